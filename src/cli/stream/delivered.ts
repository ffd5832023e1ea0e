import { messageOf } from "../../kernel/index.ts";
import { oneLine } from "../../kernel/text.ts";
import type { ApiConnection } from "../api/connect.ts";
import { videoErrors } from "./errors.ts";
import { readBodyStart } from "./short-text.ts";
import { videoPath, type ApiVideo } from "./video.ts";

const RESPONSE_MS = 60_000;

/**
 * Fetches playback content, without the API token. Throws unless the response is successful. The time limit covers only
 * the response headers.
 */
export async function fetchPlaybackContent(address: string): Promise<Response> {
  const timeoutController = new AbortController();
  const timer = setTimeout(
    () => timeoutController.abort(new Error(`no response after ${RESPONSE_MS / 1000} seconds`)),
    RESPONSE_MS,
  ).unref();
  const response = await fetch(address, { signal: timeoutController.signal })
    .catch((thrown: unknown) => {
      const cause = thrown instanceof Error ? (thrown.cause ?? thrown) : thrown;
      throw videoErrors.notDelivered(
        { address, reason: messageOf(cause) || String((cause as { code?: unknown }).code) },
        { cause: thrown },
      );
    })
    .finally(() => clearTimeout(timer));
  if (!response.ok)
    throw videoErrors.notDelivered({
      address,
      reason: oneLine(`status ${response.status}: ${await readBodyStart(response)}`, 1000),
    });
  return response;
}

/** Replaces the uid in a video's URL with a token. */
export const withToken = (address: string, uid: string, token: string): string =>
  address.replace(`/${uid}/`, `/${token}/`);

/** Returns the URL unchanged, or with a token if the video requires one. */
export async function playableUrl(
  connection: ApiConnection,
  { uid, requireSignedURLs }: Pick<ApiVideo, "uid" | "requireSignedURLs">,
  address: string,
  claims: { downloadable?: true } = {},
): Promise<string> {
  if (!requireSignedURLs) return address;
  const { token } = await connection.api.result<{ token: string }>("POST", `${videoPath(connection, uid)}/token`, {
    json: claims,
  });
  return withToken(address, uid, token);
}
