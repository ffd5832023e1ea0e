import type { Context } from "../context.ts";
import type { ItemProgress, V4Client } from "../port.ts";
import { apiPath, resultIfFound } from "../requests.ts";
import { readAudioRendition } from "./hls-audio.ts";
import type { V4Video } from "./video.ts";

export interface V4AudioTrack {
  uid: string;
  label: string;
  default?: boolean;
  status?: string;
}

/** Resolves with the audio tracks that were added to a video. */
export async function audioTracksOf(api: V4Client, base: string, uid: string): Promise<V4AudioTrack[]> {
  const found = await resultIfFound<{ audio?: V4AudioTrack[] } | V4AudioTrack[]>(
    api,
    `${base}/stream${apiPath`/${uid}`}/audio`,
  );
  const tracks = Array.isArray(found) ? found : (found?.audio ?? []);
  return tracks.filter(({ status = "ready" }) => status === "ready");
}

/**
 * The API does not return audio files, so the tracks are read from the HLS playlist of the video, in their encoded
 * form. `path`: the video on the target.
 */
export async function copyAudioTracks(
  context: Context,
  video: V4Video,
  path: string,
  tracks: readonly V4AudioTrack[],
  progress: ItemProgress,
): Promise<void> {
  for (const track of tracks) {
    const file = await readAudioRendition(context, video, track.label);
    if (file === undefined) {
      progress.warn(`its audio track "${track.label}" is not part of the HLS playlist of the source`);
      continue;
    }
    const made = await context.target.api.result<V4AudioTrack>("POST", `${path}/audio`, {
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
        .result("PATCH", `${path}/audio${apiPath`/${made.uid}`}`, { json: { default: true } })
        .catch((thrown: unknown) =>
          progress.warn(`its audio track "${track.label}" is not the default yet: ${(thrown as Error).message}`),
        );
  }
}
