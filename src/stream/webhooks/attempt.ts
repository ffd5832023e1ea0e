import { createHmac } from "node:crypto";
import { isIP } from "node:net";
import { type GuardedFetch, readUrl } from "../../kernel/guarded-fetch.ts";
import { type Clock, messageOf } from "../../kernel/index.ts";
import { isLoopbackAddress, isNonPublicAddress } from "../../kernel/networks.ts";
import { streamErrors, throwFetchError } from "../errors.ts";
import type { WebhookAttempt } from "./types.ts";

const RESPONSE_TIMEOUT_MS = 10_000;
const MAX_SNIPPET_LENGTH = 500;

/** Sends the delivery once; any response other than a 2xx is a failure. Rejects only if `signal` is aborted. */
export async function attemptDelivery(
  { url, secret }: { url: string; secret: string },
  body: string,
  { fetch, clock, signal }: { fetch: GuardedFetch; clock: Pick<Clock, "now">; signal?: AbortSignal },
): Promise<WebhookAttempt> {
  const timestamp = clock.now();
  const startedAt = performance.now();
  const toAttempt = (outcome: Pick<WebhookAttempt, "status" | "error"> & { response?: string }): WebhookAttempt => ({
    response: "",
    ...outcome,
    at: timestamp,
    ms: Math.round(performance.now() - startedAt),
  });
  try {
    const answer = await fetch(url, {
      method: "POST",
      body,
      headersTimeoutMs: RESPONSE_TIMEOUT_MS,
      totalTimeoutMs: RESPONSE_TIMEOUT_MS + 2000,
      ...(signal && { signal }),
      headers: { "content-type": "application/json", "webhook-signature": signatureOf(secret, body, timestamp) },
    });
    // For display only; a truncated body does not affect the result.
    const response = (await answer.text(MAX_SNIPPET_LENGTH).catch(() => "")).replaceAll("\0", "");
    const { status } = answer;
    if (status >= 200 && status < 300) return toAttempt({ status, error: null, response });
    return toAttempt({
      status,
      error:
        status >= 300 && status < 400
          ? "it responded with a redirect, which is not followed"
          : `it responded with status ${status}`,
      response,
    });
  } catch (err) {
    if (signal?.aborted === true) throw err;
    return toAttempt({ status: null, error: messageOf(err).slice(0, MAX_SNIPPET_LENGTH) });
  }
}

export const isSuccess = ({ error }: WebhookAttempt): boolean => error === null;

/**
 * `Webhook-Signature`: HMAC-SHA256 over the time, a dot, and the body as sent. `timestamp`: epoch milliseconds; the
 * header contains seconds.
 */
function signatureOf(secret: string, body: string, timestamp: number): string {
  const time = Math.floor(timestamp / 1000);
  return `time=${time},sig1=${createHmac("sha256", secret).update(`${time}.${body}`).digest("hex")}`;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Delay after each failed attempt: seconds to cover restarts, hours to cover outages, almost 24 hours in total. */
export const RETRY_MS: readonly number[] = [
  5000,
  30_000,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  HOUR_MS,
  2 * HOUR_MS,
  4 * HOUR_MS,
  6 * HOUR_MS,
  10 * HOUR_MS,
];

export const WEBHOOK_ATTEMPTS = RETRY_MS.length + 1;

/** Delay before attempt n + 1, with n starting at 1. */
export const webhookRetryDelay = (attempt: number): number => RETRY_MS[Math.min(attempt, RETRY_MS.length) - 1]!;

/**
 * Normalizes the URL of a webhook. Host names are resolved and checked at each delivery; IP addresses that are not
 * public are rejected here. Throws invalidUrl.
 */
export function webhookUrl(urlText: string, allowPrivate: boolean): string {
  let url: URL;
  try {
    url = readUrl(urlText.trim());
  } catch (err) {
    throwFetchError(err);
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const isPrivateHost =
    isIP(host) === 0 ? /^(.+\.)?localhost\.?$/i.test(host) : isLoopbackAddress(host) || isNonPublicAddress(host);
  if (isPrivateHost && !allowPrivate)
    throw streamErrors.invalidUrl({
      reason: `${host} is not a public host; webhooks to private addresses are not allowed`,
    });
  return url.href;
}
