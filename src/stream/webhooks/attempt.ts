import { type Clock, messageOf } from "../../kernel/index.ts";
import type { GuardedFetch } from "../../kernel/guarded-fetch.ts";
import { signatureOf } from "./signature.ts";
import type { WebhookAttempt } from "./types.ts";

const ANSWER_MS = 10_000;
const SNIPPET = 500;

/** Sends it once; anything but a 2xx is a failure. Rejects only when `signal` says so. */
export async function attempt(
  { url, secret }: { url: string; secret: string },
  body: string,
  { fetch, clock, signal }: { fetch: GuardedFetch; clock: Pick<Clock, "now">; signal?: AbortSignal },
): Promise<WebhookAttempt> {
  const at = clock.now();
  const begun = performance.now();
  const done = (told: Pick<WebhookAttempt, "status" | "error"> & { response?: string }): WebhookAttempt => ({
    response: "",
    ...told,
    at,
    ms: Math.round(performance.now() - begun),
  });
  try {
    const answer = await fetch(url, {
      method: "POST",
      body,
      headersMs: ANSWER_MS,
      totalMs: ANSWER_MS + 2000,
      ...(signal && { signal }),
      headers: { "content-type": "application/json", "webhook-signature": signatureOf(secret, body, at) },
    });
    // What it says is for a person to read; a body that breaks off changes nothing.
    const response = (await answer.text(SNIPPET).catch(() => "")).replaceAll("\0", "");
    const { status } = answer;
    if (status >= 200 && status < 300) return done({ status, error: null, response });
    return done({
      status,
      error: status >= 300 && status < 400 ? "it was redirected, which is not followed" : `it answered ${status}`,
      response,
    });
  } catch (err) {
    if (signal?.aborted === true) throw err;
    return done({
      status: null,
      error: messageOf(err)
        .replace(/^Invalid URL: /, "")
        .slice(0, SNIPPET),
    });
  }
}

export const isSuccess = ({ error }: WebhookAttempt): boolean => error === null;
