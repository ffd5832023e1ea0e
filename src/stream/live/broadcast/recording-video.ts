import { metaText, type LiveVideos } from "../../videos/index.ts";
import type { LiveInput } from "../inputs/port.ts";

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const padTwoDigits = (number: number) => String(number).padStart(2, "0");

/** `meta.name` of a recording: "Morning show 23 Sep 21 05:44 UTC". */
export function recordingName(input: string | undefined, startedAt: number): string {
  const startDate = new Date(startedAt);
  const time = `${padTwoDigits(startDate.getUTCDate())} ${MONTHS[startDate.getUTCMonth()]!} ${padTwoDigits(startDate.getUTCFullYear() % 100)} ${padTwoDigits(startDate.getUTCHours())}:${padTwoDigits(startDate.getUTCMinutes())} UTC`;
  return input === undefined || input === "" ? time : `${input} ${time}`;
}

/**
 * Creates the video of a new broadcast with the settings of its input. False if the video of a continued broadcast has
 * been deleted.
 */
export async function ensureVideo(
  videos: Pick<LiveVideos, "begin" | "find">,
  { kind, video }: { kind: "begun" | "continued"; video: string },
  input: LiveInput,
  startedAt: number,
): Promise<boolean> {
  if (video === "") return true;
  if (kind === "continued") return (await videos.find(video))?.state === "live-inprogress";
  const { requireSignedURLs, allowedOrigins } = input.recording;
  await videos.begin(input.account, video, {
    liveInput: input.uid,
    creator: input.defaultCreator,
    meta: { name: recordingName(metaText(input.meta, "name"), startedAt) },
    requireSignedURLs,
    allowedOrigins,
  });
  return true;
}
