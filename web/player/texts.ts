import type { PlayerVideo } from "../../src/stream/player/page-config.ts";

const CAUSES: Record<string, string> = {
  ERR_NON_VIDEO: "The file that was uploaded is not a video.",
  ERR_DURATION_EXCEED_CONSTRAINT: "It is longer than was allowed.",
  ERR_FETCH_ORIGIN_ERROR: "It could not be fetched from the address that was given.",
  ERR_MALFORMED_VIDEO: "The file is damaged.",
  ERR_DURATION_TOO_SHORT: "It is too short to be played.",
};

export const failedText = (video: PlayerVideo) => ({ title: "This video could not be processed", text: CAUSES[video.error?.code ?? ""] ?? "Something went wrong while it was prepared." });

/** While it is made: the first segment is there long before 100 percent, so what is shown is mostly the beginning. */
export function waitingText({ state, pctComplete, live }: PlayerVideo): { title: string; text: string; progress?: number; busy?: boolean; calm?: boolean } {
  if (live?.state === "waiting") return { title: "The broadcast has not started yet", text: "It will play here as soon as it does.", busy: false, calm: true };
  switch (state) {
    case "live-inprogress":
      return { title: "The broadcast is starting", text: "It will play here in a moment." };
    case "pendingupload":
      return { title: "Waiting for the upload", text: "This video has not been uploaded yet. It will play here as soon as it is." };
    case "downloading":
      return { title: "The video is on its way", text: "It is being fetched, and will play here as soon as it is ready." };
    case "queued":
      return { title: "The video is waiting its turn", text: "It will play here as soon as it is ready." };
    default:
      return { title: "The video is being prepared", text: "It will play here in a moment.", ...(pctComplete > 0 && { progress: pctComplete / 100 }) };
  }
}

/** Of an HTTP status that stands in the way; undefined: the way itself is. */
export function refusedText(status: number | undefined): { title: string; text: string } {
  if (status === 404 || status === 410) return { title: "This video is not here", text: "It may have been deleted, or the link is not complete." };
  if (status === 401 || status === 403) return { title: "You cannot watch this video", text: "The link may have expired, or the video is not meant for this place." };
  if (status === 424) return { title: "This video could not be processed", text: "Something went wrong while it was prepared." };
  if (status !== undefined && status >= 400) return { title: "The video is not available right now", text: "The server is busy or being repaired." };
  return { title: "The connection was lost", text: "The video goes on when you are online again." };
}

export const overText = { title: "The broadcast is over", text: "You can watch it again, from the beginning." };
export const goneText = { title: "The broadcast is over", text: "There is no recording of it." };
export const interruptedText = "The broadcast was interrupted. It goes on here by itself.";
export const stalledText = "Waiting for the broadcast to go on.";
export const reconnectingText = "The connection was lost. Trying again.";
export const silentText = "The sound is off.";
export const nextText = "There is a new broadcast.";

export const unplayableText = { title: "This browser cannot play the video", text: "Another browser, or a newer version of this one, may." };
