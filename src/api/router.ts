import type { Params, Result, Router } from "hono/router";

interface Node<T> {
  fixed: Map<string, Node<T>>;
  param?: Node<T>;
  /** Routes that end at this node, by method, with the names of their parameters. */
  ends: Map<string, End<T>>;
  /** Routes that end at this node and use the rest of the path as their last parameter. */
  rest: Map<string, End<T>>;
}

interface End<T> {
  handler: T;
  names: string[];
}

/**
 * Hono's fast router rejects a literal and a parameter in the same position (`/tokens/verify`, `/tokens/:id`), which
 * this API uses everywhere, and its other router costs as much as everything else in a short response. This router
 * walks the segments; a literal takes precedence over a parameter. Patterns are `/a/:b`, with `:c{.+}` or `*` as the
 * last segment for the rest of the path.
 */
export function createSegmentRouter<T>(): Router<T> {
  const root = createNode<T>();

  return {
    name: "SegmentRouter",
    add(method, path, handler) {
      const names: string[] = [];
      let node = root;
      for (const segment of path.split("/").slice(1)) {
        const [, name, pattern] = /^:(\w+)(\{\.\+\})?$/.exec(segment) ?? [];
        if (name !== undefined) names.push(name);
        if (pattern !== undefined || segment === "*") return void node.rest.set(method, { handler, names });
        if (name !== undefined) node = node.param ??= createNode();
        else node = node.fixed.getOrInsertComputed(segment, createNode<T>);
      }
      node.ends.set(method, { handler, names });
    },
    match(method, path) {
      const values: string[] = [];
      const end = find(root, method, path, 1, values);
      if (end === undefined) return [[]] as unknown as Result<T>;
      const params: Params = {};
      for (let i = 0; i < end.names.length; i++) params[end.names[i]!] = values[i]!;
      return [[[end.handler, params]]];
    },
  };
}

const createNode = <T>(): Node<T> => ({ fixed: new Map(), ends: new Map(), rest: new Map() });

/** `from`: start of the next segment. Parameter values are added to `values`. */
function find<T>(node: Node<T>, method: string, path: string, from: number, values: string[]): End<T> | undefined {
  if (from > path.length) return node.ends.get(method);
  // A trailing slash, as in some documents of the hosted API, is ignored. Not for DELETE, where the client may have
  // meant to append a name that is empty.
  if (from === path.length && method !== "DELETE" && node.rest.size === 0) return node.ends.get(method);
  const slash = path.indexOf("/", from);
  const to = slash < 0 ? path.length : slash;
  const segment = path.slice(from, to);
  const depth = values.length;
  const word = node.fixed.get(segment);
  const literalMatch = word && find(word, method, path, to + 1, values);
  if (literalMatch !== undefined) return literalMatch;
  values.length = depth;
  if (node.param !== undefined && segment !== "") {
    values.push(segment);
    const paramMatch = find(node.param, method, path, to + 1, values);
    if (paramMatch !== undefined) return paramMatch;
    values.length = depth;
  }
  const rest = from < path.length ? node.rest.get(method) : undefined;
  if (rest !== undefined) values.push(path.slice(from));
  return rest;
}
