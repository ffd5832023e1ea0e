import type { RoutePattern } from "./pattern.ts";

/** Finds the most specific pattern for a URL. */
export interface RouteMatcher<Target> {
  /**
   * `host`: lower-case A-labels. `url`: path and query as in the request line: the query takes part in matching.
   * Undefined: no pattern matches.
   */
  match(request: { scheme: "http" | "https"; host: string; url: string }): { target: Target } | undefined;
}

interface Rule<Target> extends RoutePattern {
  target: Target;
}

/** An exact host precedes wildcards, a longer host precedes shorter ones; then, a longer path precedes shorter ones. */
export function createMatcher<Target>(rules: Iterable<Rule<Target>>): RouteMatcher<Target> {
  const exact = new Map<string, Rule<Target>[]>();
  const wild = new Map<string, Rule<Target>[]>();
  for (const rule of rules) {
    const map = rule.hosts === "exact" ? exact : wild;
    const list = map.get(rule.host);
    if (list === undefined) map.set(rule.host, [rule]);
    else list.push(rule);
  }
  for (const list of [...exact.values(), ...wild.values()]) list.sort(bySpecificity);

  return {
    match({ scheme, host, url }) {
      const find = (list: Rule<Target>[] | undefined, isHost: boolean) =>
        list?.find(
          (rule) =>
            (rule.scheme === undefined || rule.scheme === scheme) &&
            (rule.hosts !== "subhosts" || !isHost) &&
            (rule.isPrefix ? url.startsWith(rule.path) : url === rule.path),
        );
      let found = find(exact.get(host), true) ?? find(wild.get(host), true);
      for (let dot = host.indexOf("."); found === undefined && dot >= 0; dot = host.indexOf(".", dot + 1))
        found = find(wild.get(host.slice(dot + 1)), false);
      return found && { target: found.target };
    },
  };
}

function bySpecificity(a: RoutePattern, b: RoutePattern): number {
  return (
    Number(b.hosts === "subhosts") - Number(a.hosts === "subhosts") ||
    b.path.length - a.path.length ||
    Number(a.isPrefix) - Number(b.isPrefix) ||
    Number(a.scheme === undefined) - Number(b.scheme === undefined)
  );
}
