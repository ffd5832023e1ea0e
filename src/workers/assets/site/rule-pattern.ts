import { RE2JS } from "re2js";

/** The values of the wildcard (`splat`) and the placeholders of a rule. */
type Captured = ReadonlyMap<string, string>;

/** The compiled source of a rule in `_headers` or `_redirects`: a path, or `https://host/path`. */
export interface RulePattern {
  /** Returns undefined if the path does not match. */
  match(host: string, path: string): Captured | undefined;
}

/**
 * Compiles a source: `*` matches any text, `:name` matches within a path segment or a label of the host. Matching takes
 * linear time, because tenants write the rules and this process serves all tenants. Returns undefined if a name occurs
 * twice or is not ASCII.
 */
export function compileRule(source: string): RulePattern | undefined {
  const hasHost = source.startsWith("https://");
  const hostEnd = hasHost ? source.indexOf("/", "https://".length) : 0;
  const names: string[] = [];
  let expression = "";
  for (const { 0: token, 1: placeholder, index } of source.matchAll(/\*|:([A-Za-z]\w*)|[^*:]+|:/g)) {
    const name = token === "*" ? "splat" : placeholder;
    if (name === undefined) {
      expression += RE2JS.quote(token);
      continue;
    }
    if (names.includes(name)) return undefined;
    names.push(name);
    expression += `(?P<${name}>${token === "*" ? ".*" : index < hostEnd ? "[^/.]+" : "[^/]+"})`;
  }
  // Most requests match no rule. Comparing the literal prefix rejects them cheaply.
  const literalPrefix = /^(?:[^*:]|:(?![A-Za-z]))*/.exec(source)![0];
  let compiledPattern: RE2JS;
  try {
    compiledPattern = RE2JS.compile(expression, RE2JS.DOTALL);
  } catch {
    // For example, a name is not ASCII.
    return undefined;
  }
  return {
    match(host, path) {
      const text = hasHost ? `https://${host}${path}` : path;
      if (!text.startsWith(literalPrefix)) return undefined;
      const matcher = compiledPattern.matcher(text);
      if (!matcher.matches()) return undefined;
      return new Map(names.map((name) => [name, matcher.group(name) ?? ""]));
    },
  };
}

/** Replaces each `:name` with its value in one pass, so that values are never interpreted. */
export function fillIn(text: string, captured: Captured): string {
  if (captured.size === 0 || !text.includes(":")) return text;
  // Longest names first, because ":id" is a prefix of ":identity".
  const names = [...captured.keys()].sort((a, b) => b.length - a.length);
  return text.replace(new RegExp(`:(${names.join("|")})`, "g"), (_, name: string) => captured.get(name)!);
}
