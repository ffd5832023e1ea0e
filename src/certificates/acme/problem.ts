import type { AcmeResponse } from "./http.ts";

/** A request that an ACME server rejected (RFC 8555 6.7). */
export class AcmeProblem extends Error {
  override readonly name = "AcmeProblem";
  /** Problem type without its prefix, such as "badNonce" or "rateLimited"; "" if the server gave none. */
  readonly type: string;
  /** Delay that the server requests before the next attempt. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, type: string, retryAfterMs?: number) {
    super(message);
    this.type = type;
    this.retryAfterMs = retryAfterMs;
  }
}

/** A problem document (RFC 9457) from a response, an order or a challenge. */
export interface ProblemDocument {
  type?: string;
  detail?: string;
  subproblems?: (ProblemDocument & { identifier?: { value?: string } })[];
}

export function problemOf(response: AcmeResponse, request: string, now: number): AcmeProblem {
  let document: ProblemDocument = {};
  try {
    document = JSON.parse(response.text) as ProblemDocument;
  } catch {
    // A reverse proxy in front of the server may respond with anything.
  }
  const type = typeOf(document);
  return new AcmeProblem(
    `${request} failed with status ${response.status}${type === "" ? "" : ` ${type}`}: ${problemText(document)}`,
    type,
    retryAfter(response, now),
  );
}

const typeOf = ({ type }: ProblemDocument) =>
  typeof type === "string" ? type.replace("urn:ietf:params:acme:error:", "") : "";

export function problemText(document: ProblemDocument | undefined): string {
  const detail = typeof document?.detail === "string" ? document.detail : "no reason given";
  const subproblemTexts = (Array.isArray(document?.subproblems) ? document.subproblems : []).map(
    (sub) => `${sub.identifier?.value ?? ""}: ${problemText(sub)}`,
  );
  return [detail, ...subproblemTexts].join("; ").slice(0, 1000);
}

/** Milliseconds from Retry-After, which gives seconds or a date (RFC 9110 10.2.3); at most a day. */
export function retryAfter({ header }: Pick<AcmeResponse, "header">, now: number): number | undefined {
  const given = header("retry-after");
  if (given === undefined) return undefined;
  const ms = /^\d+$/.test(given) ? Number(given) * 1000 : Date.parse(given) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), 86_400_000);
}
