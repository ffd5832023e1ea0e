import { domainToASCII } from "node:url";
import { workerRoutingErrors } from "./errors.ts";
import { routingLimits } from "./limits.ts";

/**
 * A parsed route pattern:
 * https://developers.cloudflare.com/workers/configuration/routing/routes/#matching-behavior
 */
export interface RoutePattern {
  /** Undefined if the pattern matches both. */
  scheme: "http" | "https" | undefined;
  /** The host in lower-case A-labels, without the wildcard. */
  host: string;
  /** `exact`: the host; `subhosts` (`*.`): its subdomains; `both` (`*`): the host and its subdomains. */
  hosts: "exact" | "subhosts" | "both";
  /** The path without the wildcard. */
  path: string;
  /** True if the path ends with a wildcard. */
  isPrefix: boolean;
}

/** Throws badPattern. */
export function parsePattern(pattern: string): RoutePattern {
  const createPatternError = (reason: string) =>
    workerRoutingErrors.badPattern({ pattern: JSON.stringify(pattern.slice(0, 200)), reason });
  if (pattern.length > routingLimits.patternLength)
    throw createPatternError(`it has more than ${routingLimits.patternLength} characters`);
  if (/[\s\p{Cc}]/u.test(pattern)) throw createPatternError("it contains white space");
  const [, scheme, rest = ""] = /^(?:([a-z][a-z0-9+.-]*):\/\/)?(.*)$/is.exec(pattern) ?? [];
  const lowerScheme = scheme?.toLowerCase();
  if (lowerScheme !== undefined && lowerScheme !== "http" && lowerScheme !== "https")
    throw createPatternError(`its scheme must be http or https, not ${lowerScheme}`);
  const slash = rest.indexOf("/");
  const hostPart = slash < 0 ? rest : rest.slice(0, slash);
  const path = slash < 0 ? "/" : rest.slice(slash);
  if (path.includes("?") || hostPart.includes("?")) throw createPatternError("it contains a query");
  if (path.includes("#") || hostPart.includes("#")) throw createPatternError("it contains a fragment");
  if (path.slice(0, -1).includes("*")) throw createPatternError("a wildcard in the path is allowed only at the end");
  if (hostPart.includes(":")) throw createPatternError("it contains a port");
  const hosts = hostPart.startsWith("*.") ? "subhosts" : hostPart.startsWith("*") ? "both" : "exact";
  const hostName = hostPart.slice(hosts === "subhosts" ? 2 : hosts === "both" ? 1 : 0);
  if (hostName.includes("*")) throw createPatternError("a wildcard in the host is allowed only at the beginning");
  const host = hostOf(hostName);
  if (host === undefined) throw createPatternError("it has no valid host");
  const isPrefix = path.endsWith("*");
  return { scheme: lowerScheme, host, hosts, path: isPrefix ? path.slice(0, -1) : path, isPrefix };
}

/** Returns the host name in lower-case A-labels; undefined if it is not one. */
export function hostOf(text: string): string | undefined {
  const host = domainToASCII(text.replace(/\.$/, ""));
  return /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)+$/.test(host)
    ? host
    : undefined;
}

/** Returns equal values for patterns that match the same URLs. */
export const patternKey = ({ scheme, host, hosts, path, isPrefix }: RoutePattern): string =>
  `${scheme ?? ""}|${{ exact: "", subhosts: "*.", both: "*" }[hosts]}${host}|${path}${isPrefix ? "*" : ""}`;

export const isWithinZone = (host: string, zone: string): boolean => host === zone || host.endsWith(`.${zone}`);
