import type { Params, Result, Router } from "hono/router";

interface Node<T> {
  fixed: Map<string, Node<T>>;
  param?: Node<T>;
  /** What ends here, by method, with the names of the parameters on the way. */
  ends: Map<string, End<T>>;
  /** What ends here and takes the rest of the path as its last parameter. */
  rest: Map<string, End<T>>;
}

interface End<T> {
  handler: T;
  names: string[];
}

/**
 * Hono's own fast router refuses what this API is full of, a word and a parameter in one place (`/tokens/verify`, `/tokens/:id`), and its
 * other one costs as much as all the rest of a short answer. Here a path is a walk along its segments: a word goes before a parameter.
 * Patterns are `/a/:b`, and as the last segment `:c{.+}` or `*` for everything that follows.
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

/** `from`: where the next segment begins. Leaves the values of the parameters in `values`. */
function find<T>(node: Node<T>, method: string, path: string, from: number, values: string[]): End<T> | undefined {
  if (from > path.length) return node.ends.get(method);
  // A slash at the end, as some documents of the hosted API write it, means the same as none. Not to DELETE: behind it an empty name may have been meant.
  if (from === path.length && method !== "DELETE" && node.rest.size === 0) return node.ends.get(method);
  const slash = path.indexOf("/", from);
  const to = slash < 0 ? path.length : slash;
  const segment = path.slice(from, to);
  const depth = values.length;
  const word = node.fixed.get(segment);
  const byWord = word && find(word, method, path, to + 1, values);
  if (byWord !== undefined) return byWord;
  values.length = depth;
  if (node.param !== undefined && segment !== "") {
    values.push(segment);
    const byParam = find(node.param, method, path, to + 1, values);
    if (byParam !== undefined) return byParam;
    values.length = depth;
  }
  const rest = from < path.length ? node.rest.get(method) : undefined;
  if (rest !== undefined) values.push(path.slice(from));
  return rest;
}
