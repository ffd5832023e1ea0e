import type { AssetsConfig } from "../config.ts";
import { ASSET_LIMITS } from "../limits.ts";
import { hasVariables, normalizeRuleUrl, readRuleLines, type RuleProblem } from "./rule-file.ts";

export interface RedirectRule {
  from: string;
  to: string;
  /** 200 serves the destination without a redirect. */
  status: 200 | 301 | 302 | 303 | 307 | 308;
  line: number;
  /** True if the rule has a wildcard or placeholder, or follows a rule that has one. */
  dynamic: boolean;
}

const STATUSES = new Set([200, 301, 302, 303, 307, 308]);

/**
 * Parses `_redirects`. Each line is a rule: `source destination [status]`. Invalid lines are ignored and reported.
 * https://developers.cloudflare.com/workers/static-assets/redirects/
 */
export function parseRedirects(
  text: string,
  htmlHandling: AssetsConfig["htmlHandling"],
): { rules: RedirectRule[]; problems: RuleProblem[] } {
  const rules: RedirectRule[] = [];
  const problems: RuleProblem[] = [];
  const seenSources = new Set<string>();
  const counts = { static: 0, dynamic: 0 };
  for (const { line, text: rule } of readRuleLines(text, problems)) {
    const reportProblem = (message: string) => void problems.push({ line, message });
    const words = rule
      .replace(/\s#.*$/, "")
      .trim()
      .split(/\s+/);
    if (words.length < 2 || words.length > 3) {
      reportProblem(`a rule has 2 or 3 fields (source, destination, status), not ${words.length}`);
      continue;
    }
    const [source, destination, status = "302"] = words as [string, string, string?];
    const from = normalizeRuleUrl(/^(?:\/|https:)/.test(source) ? source : `/${source}`, { absolute: false });
    const to = normalizeRuleUrl(destination, { absolute: true, suffix: true, port: true });
    const isDynamic = counts.dynamic > 0 || (from.reason === undefined && hasVariables(from.url));
    const kind = isDynamic ? "dynamic" : "static";
    if (from.reason !== undefined) {
      reportProblem(from.reason);
      continue;
    }
    const limit = isDynamic ? ASSET_LIMITS.dynamicRedirects : ASSET_LIMITS.staticRedirects;
    if (++counts[kind] > limit) {
      reportProblem(`the file has more than ${limit} ${kind} rules`);
      if (isDynamic) break;
      continue;
    }
    const reason =
      to.reason ??
      (STATUSES.has(Number(status)) ? undefined : `the status is ${status}, not 200, 301, 302, 303, 307 or 308`) ??
      (isLoop(from.url, to.url ?? "", htmlHandling) ? "the rule would redirect to itself in a loop" : undefined) ??
      (seenSources.has(from.url) ? `an earlier rule has the source ${from.url}` : undefined);
    if (reason !== undefined || to.url === undefined) {
      reportProblem(reason!);
      continue;
    }
    seenSources.add(from.url);
    if (Number(status) === 200 && to.url.startsWith("https://"))
      reportProblem(`a rule with status 200 needs a path as destination, not ${to.url}`);
    else
      rules.push({
        from: from.url,
        to: to.url,
        status: Number(status) as RedirectRule["status"],
        line,
        dynamic: isDynamic,
      });
  }
  return { rules, problems };
}

/**
 * True if a redirect would loop: HTML handling redirects `/index` and `/index.html` to their folder, which the source
 * matches again.
 */
function isLoop(from: string, to: string, htmlHandling: AssetsConfig["htmlHandling"]): boolean {
  if (to.startsWith("https://") || !/\/index(?:\.html)?$/.test(to)) return false;
  return from.endsWith("/*") || (from.endsWith("/") && htmlHandling !== "none");
}
