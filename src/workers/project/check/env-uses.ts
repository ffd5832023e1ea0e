import { maskSource } from "./mask.ts";

/** A position where code reads a binding from its environment. */
export interface EnvUse {
  name: string;
  file: string;
  line: number;
  column: number;
  /**
   * The members used there, such as `send` in `env.SEB.send(…)`; for a destructured name, all members that the file
   * uses.
   */
  members: string[];
}

const NAME = String.raw`[A-Za-z_$][\w$]*`;

/**
 * Finds `env.NAME`, `env["NAME"]`, `this.env.NAME`, `const { NAME } = env` and a handler's `{ NAME }` in place of env.
 * It prefers false negatives: a name is ignored completely if the code treats it as optional (`env.NAME?.x`, `if
 * (env.NAME)`, a default), or calls or assigns it; a file that declares its own variable named env is ignored too.
 */
export function findEnvUses(file: string, source: string): EnvUse[] {
  const code = maskSource(source);
  if (definesEnv(code, source)) return [];
  const usesClassEnv = /\bfrom\s*["']cloudflare:workers["']/.test(source);
  const foundUses = [...propertyUses(code, source, usesClassEnv), ...destructuredUses(code, usesClassEnv)];
  const optional = new Set(foundUses.filter(({ provided: isOptional }) => isOptional).map(({ name }) => name));
  const placeAt = placesOf(source);
  return foundUses
    .filter(({ name }) => !optional.has(name) && !(name in Object.prototype))
    .map(({ name, offset, members }) => ({ name, file, ...placeAt(offset), members }))
    .sort((a, b) => a.line - b.line || a.column - b.column);
}

interface FoundUse {
  name: string;
  offset: number;
  members: string[];
  /** The code handles a missing binding, or the name refers to something else. */
  provided: boolean;
}

// Matches `...env` but not `x.env`.
const ENV = (usesClassEnv: boolean) =>
  String.raw`(?<![\w$])(?<!(?<!\.\.)\.\s*)${usesClassEnv ? String.raw`(?:this\s*\.\s*)?` : ""}env`;

function* propertyUses(code: string, source: string, usesClassEnv: boolean): Generator<FoundUse> {
  for (const match of code.matchAll(
    new RegExp(String.raw`${ENV(usesClassEnv)}\s*(?:(\?)?\.\s*(${NAME})|\[\s*)`, "g"),
  )) {
    const end = match.index + match[0].length;
    let name = match[2];
    let after = end;
    if (name === undefined) {
      // The mask has blanked the string, so it is read from the source at the same offset.
      const quoted = new RegExp(String.raw`(["'])(${NAME})\1\s*\]`, "y");
      quoted.lastIndex =
        match.index +
        match[0].trimEnd().length +
        (source.slice(match.index + match[0].trimEnd().length).match(/^\s*/)?.[0].length ?? 0);
      const text = quoted.exec(source);
      if (text === null) continue;
      name = text[2]!;
      after = quoted.lastIndex;
    }
    const rest = code.slice(after, after + 80);
    const before = code.slice(Math.max(0, match.index - 40), match.index);
    const isOptional =
      match[1] === "?" ||
      /^\s*(?:\?|&&|\|\||[!=]==?|=(?!>)|\()/.test(rest) ||
      /(?:!|\btypeof\s|\b(?:if|while)\s*\(\s*|&&\s*|\|\|\s*|\bdelete\s)$/.test(before);
    const [, member] = new RegExp(String.raw`^\s*!?\s*\.\s*(${NAME})`).exec(rest) ?? [];
    yield { name, offset: match.index, members: member === undefined ? [] : [member], provided: isOptional };
  }
}

const HANDLERS = "email|fetch|scheduled|queue|tail|trace|alarm|test";

function* destructuredUses(code: string, usesClassEnv: boolean): Generator<FoundUse> {
  const assignments = code.matchAll(
    new RegExp(
      String.raw`\b(?:const|let|var)\s*\{([^{}]*)\}\s*(?::[^=;]*)?=\s*${ENV(usesClassEnv)}\s*(?=[;\n)]|$)`,
      "gd",
    ),
  );
  // Requires a function body to follow, because `fetch(url, { method })` is a call.
  const parameter = code.matchAll(
    new RegExp(
      String.raw`\b(?:${HANDLERS})\b\s*(?::\s*(?:async\s*)?)?(?:function\s*)?\(\s*[^,(){}]+,\s*\{([^{}]*)\}(?:\s*:\s*\{[^{}]*\})?[^(){}]*\)\s*(?::[^{};=]*)?(?:=>|\{)`,
      "gd",
    ),
  );
  for (const match of [...assignments, ...parameter]) {
    const [start] = match.indices![1]!;
    for (const part of match[1]!.matchAll(
      new RegExp(String.raw`(?:^|,)\s*(${NAME})\s*(?::\s*(${NAME}))?\s*(=)?`, "gd"),
    )) {
      const [, name, alias, hasDefault] = part;
      const members = [
        ...code.matchAll(
          new RegExp(
            String.raw`(?<![\w$.])${(alias ?? name!).replaceAll("$", String.raw`\$`)}\s*!?\s*\.\s*(${NAME})`,
            "g",
          ),
        ),
      ].map(([, member]) => member!);
      yield {
        name: name!,
        offset: start + part.indices![1]![0],
        members: [...new Set(members)],
        provided: hasDefault !== undefined,
      };
    }
  }
}

function definesEnv(code: string, source: string): boolean {
  if (/\b(?:const|let|var)\s+env\b|\bimport\s+(?:\*\s+as\s+)?env\b/.test(code)) return true;
  const envImport = /\bimport\s*\{[^{}]*\benv\b[^{}]*\}\s*from\s*["']([^"']*)["']/.exec(source);
  return envImport !== null && envImport[1] !== "cloudflare:workers";
}

function placesOf(source: string): (offset: number) => { line: number; column: number } {
  return (offset) => {
    const before = source.slice(0, offset);
    return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") };
  };
}
