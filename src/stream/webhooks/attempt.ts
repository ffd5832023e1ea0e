import { createHmac } from "node:crypto";
import { isIP } from "node:net";
import { type GuardedFetch, readUrl } from "../../kernel/guarded-fetch.ts";
import { type Clock, messageOf } from "../../kernel/index.ts";
import { isLoopbackAddress, isNotPublicAddress } from "../../kernel/networks.ts";
import { streamErrors, throwFetchError } from "../errors.ts";
import type { WebhookAttempt } from "./types.ts";

const RESPONSE_TIMEOUT_MS = 10_000;
const SNIPPET = 500;

/** Sends the delivery once; any response other than a 2xx is a failure. Rejects only if `signal` is aborted. */
export async function attempt(
  { url, secret }: { url: string; secret: string },
  body: string,
  { fetch, clock, signal }: { fetch: GuardedFetch; clock: Pick<Clock, "now">; signal?: AbortSignal },
): Promise<WebhookAttempt> {
  const at = clock.now();
  const begun = performance.now();
  const done = (outcome: Pick<WebhookAttempt, "status" | "error"> & { response?: string }): WebhookAttempt => ({
    response: "",
    ...outcome,
    at,
    ms: Math.round(performance.now() - begun),
  });
  try {
    const answer = await fetch(url, {
      method: "POST",
      body,
      headersTimeoutMs: RESPONSE_TIMEOUT_MS,
      totalTimeoutMs: RESPONSE_TIMEOUT_MS + 2000,
      ...(signal && { signal }),
      headers: { "content-type": "application/json", "webhook-signature": signatureOf(secret, body, at) },
    });
    // For display only; a truncated body does not affect the result.
    const response = (await answer.text(SNIPPET).catch(() => "")).replaceAll("\0", "");
    const { status } = answer;
    if (status >= 200 && status < 300) return done({ status, error: null, response });
    return done({
      status,
      error:
        status >= 300 && status < 400
          ? "it responded with a redirect, which is not followed"
          : `it responded with status ${status}`,
      response,
    });
  } catch (err) {
    if (signal?.aborted === true) throw err;
    return done({ status: null, error: messageOf(err).slice(0, SNIPPET) });
  }
}

export const isSuccess = ({ error }: WebhookAttempt): boolean => error === null;

/**
 * `Webhook-Signature`: HMAC-SHA256 over the time, a dot, and the body as sent. `at`: epoch milliseconds; the header
 * contains seconds.
 */
function signatureOf(secret: string, body: string, at: number): string {
  const time = Math.floor(at / 1000);
  return `time=${time},sig1=${createHmac("sha256", secret).update(`${time}.${body}`).digest("hex")}`;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Delay after each failed attempt: seconds to cover restarts, hours to cover outages, 24 hours in total. */
export const RETRY_MS: readonly number[] = [
  5000,
  30_000,
  2 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  4 * HOUR,
  6 * HOUR,
  10 * HOUR,
];

export const WEBHOOK_ATTEMPTS = RETRY_MS.length + 1;

/** Delay before attempt n + 1, with n starting at 1. */
export const retryDelay = (attempt: number): number => RETRY_MS[Math.min(attempt, RETRY_MS.length) - 1]!;

/**
 * Normalises the URL of a webhook. Host names are resolved and checked at each delivery; IP addresses that are not
 * public are rejected here. Throws invalidUrl.
 */
export function webhookUrl(given: string, allowPrivate: boolean): string {
  let url: URL;
  try {
    url = readUrl(given.trim());
  } catch (err) {
    throwFetchError(err);
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const closed =
    isIP(host) === 0 ? /^(.+\.)?localhost\.?$/i.test(host) : isLoopbackAddress(host) || isNotPublicAddress(host);
  if (closed && !allowPrivate)
    throw streamErrors.invalidUrl({
      reason: `${host} is not a public host; webhooks to private addresses are not allowed`,
    });
  return url.href;
}
