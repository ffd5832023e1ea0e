import type { RoutePattern } from "./pattern.ts";

/** Finds the most specific pattern for a URL. */
export interface RouteMatcher<Target> {
  /**
   * `host`: lower-case A-labels. `url`: path and query as in the request line; patterns match against both.
   * Ignores rules whose target `accepts` rejects. Returns undefined if no pattern matches.
   */
  match(
    request: { scheme: "http" | "https"; host: string; url: string },
    accepts?: (target: Target) => boolean,
  ): { target: Target } | undefined;
}

interface Rule<Target> extends RoutePattern {
  target: Target;
}

/**
 * An exact host takes precedence over wildcards, then a longer host over shorter ones, then a longer path over shorter
 * ones.
 */
export function createMatcher<Target>(rules: Iterable<Rule<Target>>): RouteMatcher<Target> {
  const exactRules = new Map<string, Rule<Target>[]>();
  const wildcardRules = new Map<string, Rule<Target>[]>();
  for (const rule of rules) {
    const map = rule.hosts === "exact" ? exactRules : wildcardRules;
    const rulesOfHost = map.get(rule.host);
    if (rulesOfHost === undefined) map.set(rule.host, [rule]);
    else rulesOfHost.push(rule);
  }
  for (const list of [...exactRules.values(), ...wildcardRules.values()]) list.sort(compareSpecificity);

  return {
    match({ scheme, host, url }, accepts = () => true) {
      const find = (list: Rule<Target>[] | undefined, isSameHost: boolean) =>
        list?.find(
          (rule) =>
            (rule.scheme === undefined || rule.scheme === scheme) &&
            (rule.hosts !== "subhosts" || !isSameHost) &&
            (rule.isPrefix ? url.startsWith(rule.path) : url === rule.path) &&
            accepts(rule.target),
        );
      let matchedRule = find(exactRules.get(host), true) ?? find(wildcardRules.get(host), true);
      for (let dot = host.indexOf("."); matchedRule === undefined && dot >= 0; dot = host.indexOf(".", dot + 1))
        matchedRule = find(wildcardRules.get(host.slice(dot + 1)), false);
      return matchedRule && { target: matchedRule.target };
    },
  };
}

function compareSpecificity(a: RoutePattern, b: RoutePattern): number {
  return (
    Number(b.hosts === "subhosts") - Number(a.hosts === "subhosts") ||
    b.path.length - a.path.length ||
    Number(a.isPrefix) - Number(b.isPrefix) ||
    Number(a.scheme === undefined) - Number(b.scheme === undefined)
  );
}
