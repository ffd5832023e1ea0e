import { NO_BASE_PATH } from "../base-path.ts";
import { matchesGlob, workerFirstRules, type AssetsConfig } from "../config.ts";
import { parseHeaders, type HeaderRule } from "./headers-file.ts";
import { parseRedirects, type RedirectRule } from "./redirects-file.ts";
import type { RuleProblem } from "./rule-file.ts";
import { compileRule, fillIn, type RulePattern } from "./rule-pattern.ts";

/** The compiled configuration of a version's assets. */
export interface AssetRouting {
  htmlHandling: NonNullable<AssetsConfig["htmlHandling"]>;
  notFoundHandling: NonNullable<AssetsConfig["notFoundHandling"]>;
  basePath: string;
  /** True if a browser navigation to a missing file gets the not-found response instead of the worker's response. */
  navigationPrefersAssets: boolean;
  /** True if `run_worker_first` is a list. */
  hasPatterns: boolean;
  /** Returns the handler that `run_worker_first` selects for a URL path, or undefined for the usual order. */
  handlerOf(path: string): "worker" | "assets" | undefined;
  /** Returns the redirect for a URL path. */
  redirectOf(host: string, path: string): { status: RedirectRule["status"]; to: string } | undefined;
  /** Returns the changes to the response headers, in order. */
  headersOf(host: string, path: string): Pick<HeaderRule, "set" | "unset">[];
  /** Ignored lines of `_headers` and `_redirects`. */
  problems: { file: "_headers" | "_redirects"; problem: RuleProblem }[];
}

/** Navigations prefer assets from this compatibility date, unless a flag overrides it. */
const NAVIGATION_DATE = "2025-04-01";
const NAVIGATION_FLAGS = ["assets_navigation_prefers_asset_serving", "assets_navigation_has_no_effect"] as const;

interface Compatibility {
  compatibilityDate: string;
  compatibilityFlags: readonly string[];
}

export function compileRouting(
  config: AssetsConfig,
  { compatibilityDate, compatibilityFlags }: Compatibility,
): AssetRouting {
  const {
    htmlHandling = "auto-trailing-slash",
    notFoundHandling = "none",
    runWorkerFirst = false,
    basePath = NO_BASE_PATH,
  } = config;
  const redirects = parseRedirects(config.redirects ?? "", htmlHandling);
  const headers = parseHeaders(config.headers ?? "");
  const staticRedirects = new Map(redirects.rules.filter(({ dynamic }) => !dynamic).map((rule) => [rule.from, rule]));
  const dynamic = compileRules(
    redirects.rules.filter((rule) => rule.dynamic),
    ({ from }) => from,
  );
  const headerRules = compileRules(headers.rules, ({ source }) => source);
  const first = Array.isArray(runWorkerFirst) ? workerFirstRules(runWorkerFirst) : undefined;
  return {
    htmlHandling,
    notFoundHandling,
    basePath,
    navigationPrefersAssets: compatibilityFlags.includes(NAVIGATION_FLAGS[0])
      ? true
      : compatibilityDate >= NAVIGATION_DATE && !compatibilityFlags.includes(NAVIGATION_FLAGS[1]),
    hasPatterns: first !== undefined,
    handlerOf(path) {
      if (first === undefined) return runWorkerFirst === true ? "worker" : undefined;
      if (first.assets.some((pattern) => matchesGlob(pattern, path))) return "assets";
      return first.worker.some((pattern) => matchesGlob(pattern, path)) ? "worker" : undefined;
    },
    redirectOf(host, path) {
      const exactRule = staticRedirects.get(path);
      if (exactRule !== undefined) return exactRule;
      for (const { rule, pattern } of dynamic) {
        const capturedValues = pattern.match(host, path);
        if (capturedValues !== undefined) return { status: rule.status, to: destination(rule.to, capturedValues) };
      }
      return undefined;
    },
    headersOf: (host, path) =>
      headerRules.flatMap(({ rule, pattern }) => {
        const capturedValues = pattern.match(host, path);
        return capturedValues === undefined
          ? []
          : {
              set: rule.set.map(([name, value]) => [name, fillIn(value, capturedValues)] as [string, string]),
              unset: rule.unset,
            };
      }),
    problems: [
      ...headers.problems.map((problem) => ({ file: "_headers" as const, problem })),
      ...redirects.problems.map((problem) => ({ file: "_redirects" as const, problem })),
    ],
  };
}

function compileRules<Rule>(rules: Rule[], sourceOf: (rule: Rule) => string): { rule: Rule; pattern: RulePattern }[] {
  return rules.flatMap((rule) => {
    const pattern = compileRule(sourceOf(rule));
    return pattern === undefined ? [] : { rule, pattern };
  });
}

/**
 * A captured value must not change the host: with the value `/evil.example`, `/:splat` would become `//evil.example`.
 */
function destination(to: string, capturedValues: ReadonlyMap<string, string>): string {
  const filledTarget = fillIn(to, capturedValues);
  if (/^\w+:\/\//.test(to)) return filledTarget;
  const end = filledTarget.search(/[?#]/);
  const path = end < 0 ? filledTarget : filledTarget.slice(0, end);
  return path.replace(/[/\\]+/g, "/") + (end < 0 ? "" : filledTarget.slice(end));
}
