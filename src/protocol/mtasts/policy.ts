import { canonicalDomain } from "../rfc5322/index.ts";

/** MTA-STS policy of a domain (RFC 8461 3.2), as served at https://mta-sts.<domain>/.well-known/mta-sts.txt. */
export interface StsPolicy {
  mode: "enforce" | "testing" | "none";
  /** Seconds for which the policy may be cached. */
  maxAge: number;
  /** Host names in lower case; a leading "*." matches exactly one label. Empty only if the mode is "none". */
  mx: string[];
}

type StsReading = { ok: true; policy: StsPolicy } | { ok: false; why: string };

/** RFC 8461 3.3 suggests a limit of 64 kilobytes. */
export const MAX_POLICY_BYTES = 64 * 1024;

/** RFC 8461 3.2: 31557600, about a year. Larger values are not an error; they are reduced to this value. */
const MAX_AGE_SECONDS = 31_557_600;
const MAX_PATTERNS = 500;

/**
 * Reads lines of `key: value`, in any order, with LF or CRLF (3.2). Unknown keys are reserved for later versions. If a
 * key other than mx is repeated, its first value is used.
 */
export function readPolicy(text: string): StsReading {
  if (text.length > MAX_POLICY_BYTES) return invalidReading(`the policy is larger than ${MAX_POLICY_BYTES} bytes`);
  const values = new Map<string, string>();
  const mx: string[] = [];
  for (const line of text.split(/\r?\n/)) {
    if (/^[ \t]*$/.test(line)) continue;
    const field = /^([A-Za-z0-9][A-Za-z0-9_.-]{0,31}):(.*)$/.exec(line);
    if (!field) return invalidReading(`a line is not "key: value": ${line.slice(0, 80)}`);
    const [, key, raw] = field as unknown as [string, string, string];
    const value = raw.trim();
    if (key === "mx") {
      const pattern = readPattern(value);
      if (pattern === undefined) return invalidReading(`mx is not a host name: ${value.slice(0, 80)}`);
      if (mx.push(pattern) > MAX_PATTERNS) return invalidReading(`the policy has more than ${MAX_PATTERNS} mx lines`);
    } else if (!values.has(key)) values.set(key, value);
  }
  return validatePolicy(values, mx);
}

function validatePolicy(values: Map<string, string>, mx: string[]): StsReading {
  if (values.get("version") !== "STSv1") return invalidReading("version is not STSv1");
  const mode = values.get("mode");
  if (mode !== "enforce" && mode !== "testing" && mode !== "none")
    return invalidReading("mode is not enforce, testing or none");
  const age = values.get("max_age") ?? "";
  if (!/^\d{1,10}$/.test(age)) return invalidReading("max_age is not a number of seconds");
  // 3.2: "at least one mx" in every mode except none.
  if (mx.length === 0 && mode !== "none") return invalidReading("the policy has no mx line");
  return { ok: true, policy: { mode, maxAge: Math.min(Number(age), MAX_AGE_SECONDS), mx } };
}

const invalidReading = (why: string): StsReading => ({ ok: false, why });

function readPattern(value: string): string | undefined {
  const wildcard = value.startsWith("*.");
  const host = canonicalDomain((wildcard ? value.slice(2) : value).replace(/\.$/, ""));
  return host === undefined || host.startsWith("[") ? undefined : (wildcard ? "*." : "") + host;
}

/** Returns true if the policy allows this MX host (4.1): by its full name, or with one label in place of "*". */
export function allowsMx({ mx }: Pick<StsPolicy, "mx">, host: string): boolean {
  const name = host.replace(/\.$/, "").toLowerCase();
  const dot = name.indexOf(".");
  const wild = dot > 0 ? `*${name.slice(dot)}` : undefined;
  return mx.some((pattern) => pattern === name || pattern === wild);
}

/** Formats the policy file for zones on this server. */
export const formatPolicy = ({ mode, maxAge, mx }: StsPolicy): string =>
  ["version: STSv1", `mode: ${mode}`, ...mx.map((host) => `mx: ${host}`), `max_age: ${maxAge}`]
    .map((line) => `${line}\r\n`)
    .join("");
