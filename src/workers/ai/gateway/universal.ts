import { aiGatewayErrors } from "./errors.ts";
import type { GatewayStep } from "./step.ts";

/**
 * Returns the requests of a universal request. Their own headers override those of the whole request, of which only the
 * `cf-aig-*` headers apply. Throws badRequest.
 */
export function universalSteps(body: Uint8Array, headers: Headers): GatewayStep[] {
  let requests: unknown;
  try {
    requests = JSON.parse(Buffer.from(body).toString("utf8"));
  } catch {
    requests = undefined;
  }
  return [requests].flat().map((request) => {
    const { provider, endpoint, headers: own = {}, query } = (request ?? {}) as Record<string, unknown>;
    if (typeof provider !== "string" || typeof endpoint !== "string" || typeof own !== "object" || own === null)
      throw aiGatewayErrors.badRequest({
        reason: "the body is not a list of requests",
        fix: 'Send [{"provider":"workers-ai","endpoint":"v1/chat/completions","headers":{},"query":{…}}].',
      });
    const stepHeaders = new Headers({ "content-type": "application/json" });
    for (const [name, value] of headers) if (name.startsWith("cf-aig-")) stepHeaders.set(name, value);
    for (const [name, value] of Object.entries(own)) setHeader(stepHeaders, name, value);
    return {
      provider,
      endpoint: endpoint.replace(/^\/+/, ""),
      method: "POST",
      headers: stepHeaders,
      body: Buffer.from(JSON.stringify(query ?? {})),
    };
  });
}

/** Throws badRequest for a name or value that HTTP does not allow. */
function setHeader(headers: Headers, name: string, value: unknown): void {
  if (value === undefined || value === null) return;
  try {
    headers.set(name, typeof value === "object" ? asciiJson(value) : String(value));
  } catch {
    throw aiGatewayErrors.badRequest({
      reason: `the header ${JSON.stringify(name.slice(0, 100))} is not valid`,
      fix: "Use header names and values that HTTP allows.",
    });
  }
}

/** Returns JSON in ASCII, because a header cannot contain other characters. */
const asciiJson = (value: object) =>
  JSON.stringify(value).replace(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
