import { messageOf } from "../kernel/index.ts";
import type { SourceContext } from "./context.ts";
import { migrateErrors } from "./errors.ts";

const RETRIES = 5;
/** A longer Retry-After is reduced to this time. */
const MAX_WAIT_SECONDS = 120;

interface DownloadOptions {
  headers?: Record<string, string>;
  /** Statuses other than 2xx that the caller handles. */
  accept?: readonly number[];
}

/**
 * Requests a URL that contains its own credential: the API token is not sent to it. Retries 429, 5xx and lost
 * connections.
 */
export async function download(
  url: string,
  what: string,
  { source, clock, signal }: Pick<SourceContext, "source" | "clock" | "signal">,
  { headers = {}, accept = [] }: DownloadOptions = {},
): Promise<Response> {
  const request = source.fetch ?? fetch;
  for (let attempt = 1; ; attempt++) {
    const response = await request(url, { headers, ...(signal !== undefined && { signal }) }).catch(
      (thrown: unknown) => {
        if (attempt >= RETRIES || signal?.aborted === true)
          throw migrateErrors.incomplete(
            { what, reason: messageOf((thrown as Error).cause ?? thrown) },
            { cause: thrown },
          );
        return undefined;
      },
    );
    if (response !== undefined && (response.ok || accept.includes(response.status))) return response;
    const isTemporary = response === undefined || response.status === 429 || response.status >= 500;
    if (!isTemporary || attempt >= RETRIES) {
      const text = (await response!.text().catch(() => "")).trim().slice(0, 200);
      throw migrateErrors.downloadFailed({ what, status: response!.status, text: text || "no message" });
    }
    const retryAfter = Number(response?.headers.get("retry-after") ?? Number.NaN);
    await response?.body?.cancel();
    await clock.sleep(1000 * Math.min(MAX_WAIT_SECONDS, Number.isNaN(retryAfter) ? 2 ** attempt : retryAfter));
  }
}

/** Sends a file to a URL that contains its own credential. */
export async function uploadTo(
  url: string,
  what: string,
  { size, body }: { size: number; body: () => AsyncIterable<Uint8Array> },
): Promise<void> {
  const response = await fetch(url, {
    method: "PUT",
    headers: { "content-length": String(size) },
    body: body() as unknown as NonNullable<RequestInit["body"]>,
    duplex: "half",
  } as RequestInit).catch((thrown: unknown) => {
    throw migrateErrors.incomplete({ what, reason: messageOf((thrown as Error).cause ?? thrown) }, { cause: thrown });
  });
  const text = await response.text();
  if (!response.ok) throw migrateErrors.downloadFailed({ what, status: response.status, text: text.slice(0, 200) });
}
