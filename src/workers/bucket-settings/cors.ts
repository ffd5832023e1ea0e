import { bucketSettingsErrors } from "./errors.ts";
import { corsMethods, type CorsMethod, type CorsRule } from "./port.ts";

const MAX_RULES = 100;
const MAX_POLICY_BYTES = 64 * 1024;
const MAX_HEADERS_PER_RULE = 100;
/**
 * Maximum number of headers in a preflight. Each of them is compared with each allowed header, and a preflight needs no
 * authentication.
 */
const MAX_PREFLIGHT_HEADERS = 100;
const HTTP_TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Throws invalidCors. */
export function checkCors(rules: readonly CorsRule[]): void {
  const refuse = (reason: string) => bucketSettingsErrors.invalidCors({ reason });
  if (rules.length === 0) throw refuse("it has no rules");
  if (rules.length > MAX_RULES) throw refuse(`it has more than ${MAX_RULES} rules`);
  if (Buffer.byteLength(JSON.stringify(rules)) > MAX_POLICY_BYTES)
    throw refuse(`it has more than ${MAX_POLICY_BYTES} bytes`);
  for (const { allowed, exposeHeaders = [], maxAgeSeconds } of rules) {
    if (allowed.methods.length === 0) throw refuse("a rule has no methods");
    if (allowed.origins.length === 0) throw refuse("a rule has no origins");
    for (const method of allowed.methods)
      if (!corsMethods.includes(method))
        throw refuse(`the method ${JSON.stringify(method)} is not one of ${corsMethods.join(", ")}`);
    for (const origin of allowed.origins)
      if (!isOrigin(origin))
        throw refuse(`${JSON.stringify(origin)} is not an origin without a path, such as https://example.com`);
    if ((allowed.headers?.length ?? 0) > MAX_HEADERS_PER_RULE)
      throw refuse(`a rule has more than ${MAX_HEADERS_PER_RULE} allowed headers`);
    for (const name of allowed.headers ?? [])
      if (!HTTP_TOKEN.test(name) || name.split("*").length > 2)
        throw refuse(`${JSON.stringify(name)} is not a header name, or has more than one asterisk`);
    for (const name of exposeHeaders)
      if (!HTTP_TOKEN.test(name)) throw refuse(`${JSON.stringify(name)} is not a header name`);
    if (maxAgeSeconds !== undefined && !(Number.isInteger(maxAgeSeconds) && maxAgeSeconds >= 0))
      throw refuse(`maxAgeSeconds must be a whole number of seconds, not ${maxAgeSeconds}`);
  }
}

/** True for an asterisk, or for a scheme and a host with at most one asterisk. */
const isOrigin = (text: string) =>
  text === "*" || (/^[a-z][a-z0-9+.-]*:\/\/[^/?#\s]+$/i.test(text) && text.split("*").length <= 2);

/** A cross-origin request, or the request that a preflight announces. */
interface CorsRequest {
  origin: string;
  method: string;
  /** Names in the header Access-Control-Request-Headers of a preflight. */
  headers: readonly string[];
}

interface CorsGrant {
  rule: CorsRule;
  /** Value of Access-Control-Allow-Origin. */
  origin: string;
}

/** Finds the first rule that allows the request. */
function findCorsGrant(rules: readonly CorsRule[], { origin, method, headers }: CorsRequest): CorsGrant | undefined {
  for (const rule of rules) {
    const { allowed } = rule;
    const pattern = allowed.origins.find((allowedOrigin) => matches(allowedOrigin, origin));
    if (pattern === undefined || !allowed.methods.includes(method as CorsMethod)) continue;
    const names = allowed.headers?.map((name) => name.toLowerCase()) ?? [];
    if (!headers.every((header) => names.some((name) => matches(name, header.toLowerCase())))) continue;
    return { rule, origin: pattern === "*" ? "*" : origin };
  }
  return undefined;
}

function matches(pattern: string, text: string): boolean {
  const [start, end] = pattern.split("*");
  if (end === undefined) return pattern === text;
  return text.length >= start!.length + end.length && text.startsWith(start!) && text.endsWith(end);
}

/** Returns the response headers for a request that is not a preflight; empty if no rule allows the request. */
export function corsHeaders(
  rules: readonly CorsRule[] | undefined,
  request: { origin: string | undefined; method: string },
): Record<string, string> {
  if (rules === undefined) return {};
  const vary = { vary: "Origin" };
  const { origin } = request;
  const grant = origin === undefined ? undefined : findCorsGrant(rules, { ...request, origin, headers: [] });
  if (grant === undefined) return vary;
  const { exposeHeaders = [] } = grant.rule;
  return {
    ...vary,
    "access-control-allow-origin": grant.origin,
    ...(exposeHeaders.length > 0 && { "access-control-expose-headers": exposeHeaders.join(", ") }),
  };
}

/** Returns the response headers for a preflight; undefined if no rule allows the request. */
export function preflightHeaders(
  rules: readonly CorsRule[],
  preflight: { origin?: string | undefined; method?: string | undefined; headers?: string | undefined },
): Record<string, string> | undefined {
  const { origin, method } = preflight;
  if (origin === undefined || method === undefined) return undefined;
  const names = (preflight.headers ?? "").split(",").map((name) => name.trim().toLowerCase());
  const headers = [...new Set(names)].filter((name) => name !== "");
  if (headers.length > MAX_PREFLIGHT_HEADERS) return undefined;
  const grant = findCorsGrant(rules, { origin, method, headers });
  if (grant === undefined) return undefined;
  const { allowed, maxAgeSeconds } = grant.rule;
  return {
    vary: "Origin, Access-Control-Request-Headers, Access-Control-Request-Method",
    "access-control-allow-origin": grant.origin,
    "access-control-allow-methods": allowed.methods.join(", "),
    ...(headers.length > 0 && { "access-control-allow-headers": headers.join(", ") }),
    ...(maxAgeSeconds !== undefined && { "access-control-max-age": String(maxAgeSeconds) }),
  };
}
