import type { Attachment } from "postal-mime";
import type { Env } from "./env.ts";

export interface Published {
  name: string;
  /** Absent if the upload was rejected. */
  id?: string;
  watch: string;
  thumbnail: string;
  /** Why the video cannot be played, as described to the sender. */
  problem?: string;
}

const PATIENCE_MS = 20_000;
const POLL_MS = 250;

/**
 * Resolves when the video is playable, or has failed permanently. Rejects on a temporary failure: the message is then
 * delivered again.
 */
export async function publish({ filename, content }: Attachment, sender: string, { STREAM }: Env): Promise<Published> {
  const name = filename ?? "video";
  const begun = await STREAM.upload(new Blob([content]), { creator: sender.slice(0, 64), meta: { name } }).catch(
    refusal,
  );
  if (typeof begun === "string") return { name, watch: "", thumbnail: "", problem: begun };
  let video = begun;
  // Usually takes about a second. A slower video is linked anyway, because its page waits too.
  for (
    const started = Date.now();
    !video.readyToStream && video.status.state !== "error" && Date.now() - started < PATIENCE_MS;
  ) {
    await scheduler.wait(POLL_MS);
    video = await STREAM.video(video.id).details();
  }
  const watch = video.preview ?? video.hlsPlaybackUrl;
  return {
    name,
    id: video.id,
    watch,
    thumbnail: `${video.thumbnail}?height=270`,
    ...(video.status.state === "error" && { problem: video.status.errorReasonText }),
  };
}

/** The reason for a permanent rejection. */
function refusal(err: unknown): string {
  const { statusCode = 500, message } = err as { statusCode?: number; message: string };
  if (statusCode >= 500 || statusCode === 429) throw err;
  return message;
}
