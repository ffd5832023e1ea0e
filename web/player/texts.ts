import type { PlayerVideo } from "../../src/stream/player/page-config.ts";

const CAUSES: Record<string, string> = {
  ERR_NON_VIDEO: "The uploaded file is not a video. Upload another file.",
  ERR_DURATION_EXCEED_CONSTRAINT: "The video is longer than the upload allowed. Upload a shorter one.",
  ERR_FETCH_ORIGIN_ERROR: "The video could not be downloaded from its URL. Check the URL and try again.",
  ERR_MALFORMED_VIDEO: "The file is damaged. Export it again and upload the new file.",
  ERR_DURATION_TOO_SHORT: "The video is too short to be played. Upload a longer one.",
};

export const failedText = (video: PlayerVideo) => ({
  wrong: true,
  title: "This video could not be processed",
  text: CAUSES[video.error?.code ?? ""] ?? "The server failed to process the video. Upload it again.",
});

/** Status text during processing: the first segment is playable long before 100 percent. */
export function waitingText({ state, pctComplete, live }: PlayerVideo): {
  title: string;
  text: string;
  progress?: number;
  busy?: boolean;
  calm?: boolean;
} {
  if (live?.state === "waiting")
    return {
      title: "The broadcast has not started yet",
      text: "It will play here as soon as it starts.",
      busy: false,
      calm: true,
    };
  switch (state) {
    case "live-inprogress":
      return { title: "The broadcast is starting", text: "It will play here in a moment." };
    case "pendingupload":
      return {
        title: "Waiting for the upload",
        text: "This video has not been uploaded yet. It will play here once it is ready.",
      };
    case "downloading":
      return {
        title: "The video is being downloaded",
        text: "It will play here as soon as it is ready.",
      };
    case "queued":
      return { title: "The video is queued for processing", text: "It will play here as soon as it is ready." };
    default:
      return {
        title: "The video is being prepared",
        text: "It will play here in a moment.",
        ...(pctComplete > 0 && { progress: pctComplete / 100 }),
      };
  }
}

/** Returns text for an HTTP status; `undefined` stands for a network failure. */
export function refusedText(status: number | undefined): { title: string; text: string; wrong: true } {
  const wrong = true;
  if (status === 404 || status === 410)
    return { wrong, title: "This video does not exist", text: "Check the link, or ask for a new one." };
  if (status === 401 || status === 403)
    return {
      wrong,
      title: "You cannot watch this video",
      text: "Open it from the page that it belongs to, or ask for a new link.",
    };
  if (status === 424)
    return { wrong, title: "This video could not be processed", text: "Ask its owner to upload it again." };
  if (status !== undefined && status >= 400)
    return { wrong, title: "The video is not available right now", text: "Try again in a minute." };
  return { wrong, title: "The connection was lost", text: "The video resumes when you are online again." };
}

export const endedText = { title: "The broadcast has ended", text: "You can watch it again from the beginning." };
export const goneText = { title: "The broadcast has ended", text: "There is no recording of it." };
export const interruptedText = "The broadcast was interrupted. It resumes here automatically.";
export const stalledText = "Waiting for the broadcast to resume.";
export const reconnectingText = "The connection was lost. Reconnecting.";
export const silentText = "The sound is off.";
export const nextText = "There is a new broadcast.";

export const unplayableText = {
  wrong: true,
  title: "This browser cannot play the video",
  text: "Try another browser, or a newer version of this one.",
};
