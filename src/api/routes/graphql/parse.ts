import { lex, lineAndColumn, QueryError, type GraphqlToken } from "./lex.ts";

export interface Document {
  operations: GraphqlOperation[];
  fragments: Map<string, Selection[]>;
}

export interface GraphqlOperation {
  name: string | undefined;
  variables: { name: string; fallback: Value | undefined; required: boolean }[];
  selections: Selection[];
}

export type Selection =
  | {
      kind: "field";
      key: string;
      name: string;
      args: Map<string, Value>;
      directives: Directive[];
      selections: Selection[] | undefined;
    }
  | { kind: "spread"; fragment: string; directives: Directive[] }
  | { kind: "inline"; selections: Selection[]; directives: Directive[] };

export interface Directive {
  name: string;
  args: Map<string, Value>;
}

export type Value =
  | { kind: "value"; value: string | number | boolean | null }
  | { kind: "variable"; name: string }
  | { kind: "list"; items: Value[] }
  | { kind: "object"; fields: Map<string, Value> };

/** Maximum nesting depth of selections and lists. */
const MAX_DEPTH = 16;

/** Parses a GraphQL document with queries only: no schemas, mutations or subscriptions. Throws QueryError. */
export function parseQuery(source: string): Document {
  const tokens = lex(source);
  let next = 0;
  let depth = 0;

  const peek = () => tokens[next]!;
  const isSign = (sign: string) => peek().kind === "sign" && peek().text === sign;
  const isWord = (word: string) => peek().kind === "name" && peek().text === word;

  function fail(token: GraphqlToken, wanted: string): never {
    throw new QueryError(
      `syntax error at ${lineAndColumn(source, token.at)}: expected ${wanted}, found ${token.kind === "end" ? token.text : JSON.stringify(token.text.slice(0, 40))}`,
    );
  }
  function skip(sign: string): boolean {
    if (!isSign(sign)) return false;
    next++;
    return true;
  }
  function expect(sign: string) {
    if (!skip(sign)) fail(peek(), `"${sign}"`);
  }
  function name(what = "a name"): string {
    const token = peek();
    if (token.kind !== "name") fail(token, what);
    next++;
    return token.text;
  }
  function readNested<Result>(read: () => Result): Result {
    if (++depth > MAX_DEPTH) throw new QueryError(`the query is nested more than ${MAX_DEPTH} levels deep`);
    const result = read();
    depth--;
    return result;
  }
  /** Reads one or more items between two delimiters. */
  function between<Item>(open: string, close: string, read: () => Item, empty = false): Item[] {
    expect(open);
    const items: Item[] = [];
    if (!empty) items.push(read());
    while (!isSign(close)) items.push(read());
    expect(close);
    return items;
  }

  function value(): Value {
    const token = peek();
    if (isSign("$")) {
      next++;
      return { kind: "variable", name: name() };
    }
    if (isSign("[")) return readNested(() => ({ kind: "list", items: between("[", "]", value, true) }));
    if (isSign("{")) return readNested(() => ({ kind: "object", fields: new Map(between("{", "}", pair, true)) }));
    next++;
    switch (token.kind) {
      case "int":
      case "float":
        return { kind: "value", value: Number(token.text) };
      case "string":
        return { kind: "value", value: token.text };
      // An enum value is a name; the consumer validates it.
      case "name":
        return {
          kind: "value",
          value:
            token.text === "true" ? true : token.text === "false" ? false : token.text === "null" ? null : token.text,
        };
      default:
        return fail(token, "a value");
    }
  }
  function pair(): [string, Value] {
    const key = name();
    expect(":");
    return [key, value()];
  }
  const args = (): Map<string, Value> => (isSign("(") ? new Map(between("(", ")", pair)) : new Map());
  function directives(): Directive[] {
    const parsedDirectives: Directive[] = [];
    while (skip("@")) parsedDirectives.push({ name: name(), args: args() });
    return parsedDirectives;
  }

  const selections = (): Selection[] => readNested(() => between("{", "}", selection));

  function selection(): Selection {
    if (skip("...")) {
      if (peek().kind === "name" && !isWord("on"))
        return { kind: "spread", fragment: name(), directives: directives() };
      if (isWord("on")) typeCondition();
      return { kind: "inline", directives: directives(), selections: selections() };
    }
    const first = name("a field");
    const named = skip(":") ? name("a field") : first;
    return {
      kind: "field",
      key: first,
      name: named,
      args: args(),
      directives: directives(),
      selections: isSign("{") ? selections() : undefined,
    };
  }
  function typeCondition() {
    next++;
    name("a type");
  }

  function type(): boolean {
    if (isSign("[")) readNested(() => between("[", "]", type));
    else name("a type");
    return skip("!");
  }
  function variable(): GraphqlOperation["variables"][number] {
    expect("$");
    const named = name();
    expect(":");
    const required = type();
    const fallback = skip("=") ? value() : undefined;
    directives();
    return { name: named, required: required && fallback === undefined, fallback };
  }

  function operation(): GraphqlOperation {
    if (isSign("{")) return { name: undefined, variables: [], selections: selections() };
    const token = peek();
    if (isWord("mutation") || isWord("subscription"))
      throw new QueryError(`${token.text} is not supported: analytics are read-only`);
    if (!isWord("query")) fail(token, "a query");
    next++;
    const named = peek().kind === "name" ? name() : undefined;
    const variables = isSign("(") ? between("(", ")", variable) : [];
    directives();
    return { name: named, variables, selections: selections() };
  }

  const document: Document = { operations: [], fragments: new Map() };
  while (peek().kind !== "end") {
    if (isWord("fragment")) {
      next++;
      const named = name();
      if (!isWord("on")) fail(peek(), '"on"');
      typeCondition();
      directives();
      document.fragments.set(named, selections());
    } else document.operations.push(operation());
  }
  return document;
}
