import { ASSET_LIMITS } from "../limits.ts";

/** A line of `_headers` or `_redirects` that was ignored. */
export interface RuleProblem {
  /** From 1. */
  line: number;
  message: string;
}

export const hasVariables = (source: string): boolean => /\*|:[A-Za-z]/.test(source);

/** The lines of a rule file without blank lines and comments; one that is too long becomes a problem. */
export function ruleLines(text: string, problems: RuleProblem[]): { line: number; text: string }[] {
  const { lineLength } = ASSET_LIMITS;
  return text.split("\n").flatMap((raw, index) => {
    const line = { line: index + 1, text: raw.trim() };
    if (line.text === "" || line.text.startsWith("#")) return [];
    if (line.text.length <= lineLength) return [line];
    problems.push({ line: line.line, message: `the line has more than ${lineLength} characters` });
    return [];
  });
}

interface ReadSource {
  /** Whether an absolute URL is allowed. */
  absolute: boolean;
  /** Whether query and fragment are kept. */
  suffix?: boolean;
  /** Whether the host may have a port. */
  port?: boolean;
}

/** A path or `https://host/path`, normalized like the URL of a request; otherwise the reason. */
export function readRuleUrl(
  text: string,
  { absolute, suffix = false, port = false }: ReadSource,
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
