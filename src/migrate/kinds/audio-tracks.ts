import type { Context } from "../context.ts";
import type { ItemProgress, V4Client } from "../port.ts";
import { at, resultIfFound } from "../requests.ts";
import { readAudioRendition } from "./hls-audio.ts";
import type { Video } from "./video.ts";

export interface AudioTrack {
  uid: string;
  label: string;
  default?: boolean;
  status?: string;
}

/** Resolves with the audio tracks that were added to a video. */
export async function audioTracksOf(api: V4Client, base: string, uid: string): Promise<AudioTrack[]> {
  const found = await resultIfFound<{ audio?: AudioTrack[] } | AudioTrack[]>(api, `${base}/stream${at`/${uid}`}/audio`);
  const tracks = Array.isArray(found) ? found : (found?.audio ?? []);
  return tracks.filter(({ status = "ready" }) => status === "ready");
}

/**
 * The API does not return audio files, so the tracks are read from the HLS playlist of the video, in their encoded
 * form. `path`: the video on the target.
 */
export async function copyAudioTracks(
  context: Context,
  video: Video,
  path: string,
  tracks: readonly AudioTrack[],
  progress: ItemProgress,
): Promise<void> {
  for (const track of tracks) {
    const file = await readAudioRendition(context, video, track.label);
    if (file === undefined) {
      progress.warn(`its audio track "${track.label}" is not part of the HLS playlist of the source`);
      continue;
    }
    const made = await context.target.api.result<AudioTrack>("POST", `${path}/audio`, {
      body: () => {
        const form = new FormData();
        form.set("label", track.label);
        form.set("file", new File([file], "audio.mp4", { type: "audio/mp4" }));
        return form;
      },
      timeoutMs: null,
    });
    if (track.default === true)
      await context.target.api
        .result("PATCH", `${path}/audio${at`/${made.uid}`}`, { json: { default: true } })
        .catch((thrown: unknown) =>
          progress.warn(`its audio track "${track.label}" is not the default yet: ${(thrown as Error).message}`),
        );
  }
}
