import { domainToASCII } from "node:url";
import { routingErrors } from "./errors.ts";
import { routingLimits } from "./limits.ts";

/**
 * A parsed route pattern:
 * https://developers.cloudflare.com/workers/configuration/routing/routes/#matching-behavior
 */
export interface RoutePattern {
  /** Undefined: both. */
  scheme: "http" | "https" | undefined;
  /** Lower-case A-labels, without the wildcard. */
  host: string;
  /** `exact`: the host; `subhosts` (`*.`): hosts below it; `both` (`*`): the host and those below it. */
  hosts: "exact" | "subhosts" | "both";
  /** Without the wildcard. */
  path: string;
  /** The path ends with a wildcard. */
  isPrefix: boolean;
}

/** Throws badPattern. */
export function parsePattern(pattern: string): RoutePattern {
  const fail = (reason: string) => routingErrors.badPattern({ pattern: JSON.stringify(pattern.slice(0, 200)), reason });
  if (pattern.length > routingLimits.patternChars)
    throw fail(`it has more than ${routingLimits.patternChars} characters`);
  if (/[\s\p{Cc}]/u.test(pattern)) throw fail("it contains white space");
  const [, scheme, rest = ""] = /^(?:([a-z][a-z0-9+.-]*):\/\/)?(.*)$/is.exec(pattern) ?? [];
  const lower = scheme?.toLowerCase();
  if (lower !== undefined && lower !== "http" && lower !== "https") throw fail(`its scheme is ${lower}`);
  const slash = rest.indexOf("/");
  const given = slash < 0 ? rest : rest.slice(0, slash);
  const path = slash < 0 ? "/" : rest.slice(slash);
  if (path.includes("?") || given.includes("?")) throw fail("it contains a query");
  if (path.includes("#") || given.includes("#")) throw fail("it contains a fragment");
  if (path.slice(0, -1).includes("*")) throw fail("a wildcard in the path is allowed only at its end");
  if (given.includes(":")) throw fail("it contains a port");
  const hosts = given.startsWith("*.") ? "subhosts" : given.startsWith("*") ? "both" : "exact";
  const named = given.slice(hosts === "subhosts" ? 2 : hosts === "both" ? 1 : 0);
  if (named.includes("*")) throw fail("a wildcard in the host is allowed only at its beginning");
  const host = hostOf(named);
  if (host === undefined) throw fail("it has no valid host");
  const isPrefix = path.endsWith("*");
  return { scheme: lower, host, hosts, path: isPrefix ? path.slice(0, -1) : path, isPrefix };
}

/** The host name in lower-case A-labels; undefined if it is not one. */
export function hostOf(text: string): string | undefined {
  const host = domainToASCII(text.replace(/\.$/, ""));
  return /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)+$/.test(host)
    ? host
    : undefined;
}

/** Equal for patterns that match the same URLs. */
export const patternKey = ({ scheme, host, hosts, path, isPrefix }: RoutePattern): string =>
  `${scheme ?? ""}|${{ exact: "", subhosts: "*.", both: "*" }[hosts]}${host}|${path}${isPrefix ? "*" : ""}`;

export const isWithin = (host: string, zone: string): boolean => host === zone || host.endsWith(`.${zone}`);
