import { ASSET_LIMITS } from "../limits.ts";

/** An ignored line of `_headers` or `_redirects`. */
export interface RuleProblem {
  /** 1-based. */
  line: number;
  message: string;
}

export const hasVariables = (source: string): boolean => /\*|:[A-Za-z]/.test(source);

/** Returns the lines of a rule file without blank lines and comments. Adds lines that are too long to `problems`. */
export function readRuleLines(text: string, problems: RuleProblem[]): { line: number; text: string }[] {
  const { lineLength } = ASSET_LIMITS;
  return text.split("\n").flatMap((rawLine, index) => {
    const line = { line: index + 1, text: rawLine.trim() };
    if (line.text === "" || line.text.startsWith("#")) return [];
    if (line.text.length <= lineLength) return [line];
    problems.push({ line: line.line, message: `the line has more than ${lineLength} characters` });
    return [];
  });
}

interface RuleUrlOptions {
  /** True if an absolute URL is allowed. */
  absolute: boolean;
  /** True to keep the query and fragment. */
  suffix?: boolean;
  /** True if the host may have a port. */
  port?: boolean;
}

/** Normalizes a path or `https://host/path` like the URL of a request. Returns the reason if it is invalid. */
export function normalizeRuleUrl(
  text: string,
  { absolute, suffix = false, port = false }: RuleUrlOptions,
): { url: string; reason?: undefined } | { url?: undefined; reason: string } {
  const [, host, rest = ""] = /^https:\/\/+([^/]+)(.*)$/.exec(text) ?? [];
  if (host !== undefined && !absolute) return { reason: `only paths are allowed here, not ${text}` };
  if (host !== undefined && !port && /:\d+$/.test(host)) return { reason: `a port is not supported: ${text}` };
  if (host === undefined && !text.startsWith("/"))
    return { reason: `${text} is neither a path that begins with / nor an https:// URL` };
  try {
    const path = host === undefined ? text : rest;
    const { pathname, search, hash } = new URL(`https://host${path.startsWith("/") ? path : `/${path}`}`);
    const normalized = suffix ? pathname + search + hash : pathname;
    return { url: host === undefined ? normalized : `https://${host}${normalized}` };
  } catch {
    return { reason: `${text} is not a valid URL` };
  }
}
