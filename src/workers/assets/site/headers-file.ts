import { ASSET_LIMITS } from "../limits.ts";
import { normalizeRuleUrl, readRuleLines, type RuleProblem } from "./rule-file.ts";

export interface HeaderRule {
  source: string;
  line: number;
  /** Header names are in lower case. */
  set: [name: string, value: string][];
  unset: string[];
}

/** NAME is a token (RFC 9110 5.6.2). VALUE excludes control characters. */
const NAME_PATTERN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
// oxlint-disable-next-line no-control-regex
const VALUE_PATTERN = /^[\t\u0020-\u007e\u0080-\u00ff]+$/;
/** Rules cannot set these headers, which control the connection and the framing of messages. */
const FRAMING_HEADERS = new Set([
  "connection",
  "content-length",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/**
 * Parses `_headers`. Each rule is a source followed by lines `Name: value` or `! Name`. Invalid lines are ignored and
 * reported. https://developers.cloudflare.com/workers/static-assets/headers/
 */
export function parseHeaders(text: string): { rules: HeaderRule[]; problems: RuleProblem[] } {
  const rules: HeaderRule[] = [];
  const problems: RuleProblem[] = [];
  let rule: HeaderRule | undefined;
  /** True after an invalid source, whose headers are ignored. */
  let isSkipping = false;
  for (const { line, text: content } of readRuleLines(text, problems)) {
    const reportProblem = (message: string) => void problems.push({ line, message });
    if (/^(?:\/|\S+:\/\/)/.test(content)) {
      if (rules.length >= ASSET_LIMITS.headerRules) {
        reportProblem(`the file has more than ${ASSET_LIMITS.headerRules} rules`);
        break;
      }
      const source = normalizeRuleUrl(content, { absolute: true });
      const reason = source.reason ?? wildcardProblem(source.url ?? "");
      isSkipping = reason !== undefined || source.url === undefined;
      if (reason !== undefined || source.url === undefined) reportProblem(reason!);
      else rules.push((rule = { source: source.url, line, set: [], unset: [] }));
      continue;
    }
    if (isSkipping) continue;
    if (rule === undefined) reportProblem("a path must come before the first header");
    else addHeader(rule, content, reportProblem);
  }
  const emptyRules = rules.filter(({ set, unset }) => set.length + unset.length === 0);
  for (const { line } of emptyRules) problems.push({ line, message: "the rule has no headers" });
  return { rules: rules.filter((each) => !emptyRules.includes(each)), problems };
}

function addHeader(rule: HeaderRule, content: string, reportProblem: (message: string) => void): void {
  const colon = content.indexOf(":");
  if (colon < 0) {
    if (content.startsWith("! ")) rule.unset.push(content.slice(2).trim().toLowerCase());
    else reportProblem("a header has the form `Name: value`; `! Name` removes one");
    return;
  }
  const name = content.slice(0, colon).trim().toLowerCase();
  const value = content.slice(colon + 1).trim();
  if (!NAME_PATTERN.test(name)) return reportProblem(`${JSON.stringify(name)} is not a header name`);
  if (FRAMING_HEADERS.has(name)) return reportProblem(`the header ${name} cannot be set`);
  if (!VALUE_PATTERN.test(value))
    return reportProblem(`the header ${name} has ${value === "" ? "no value" : "an invalid value"}`);
  const earlierHeader = rule.set.find(([each]) => each === name);
  if (earlierHeader === undefined) rule.set.push([name, value]);
  else earlierHeader[1] += `, ${value}`;
}

function wildcardProblem(source: string): string | undefined {
  const wildcards = source.split("*").length - 1;
  if (wildcards > 1) return `${source} has more than one wildcard: use placeholders such as :name`;
  return wildcards > 0 && /:splat(?!\w)/.test(source) ? `${source} has both a wildcard and :splat` : undefined;
}
