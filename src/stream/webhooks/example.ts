import { newVideo } from "../videos/new-video.ts";
import type { Video } from "../videos/video.ts";

/** A video that never was: what a test of a webhook tells of. */
export function exampleVideo(account: string, now: number): Video {
  const video = newVideo(
    { uid: "0".repeat(32), account, now, state: "pendingupload" },
    { meta: { name: "This is a test of the webhook" }, size: 1_000_000 },
  );
  return {
    ...video,
    state: "ready",
    pctComplete: 100,
    readyToStream: true,
    readyToStreamAt: now,
    uploaded: now,
    duration: 10,
    input: { width: 1280, height: 720 },
  };
}
