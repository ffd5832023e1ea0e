import { metaText, type LiveVideos } from "../../videos/index.ts";
import type { LiveInput } from "../inputs/port.ts";

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const two = (number: number) => String(number).padStart(2, "0");

/** `meta.name` of a recording: "Morning show 23 Sep 21 05:44 UTC". */
export function recordingName(input: string | undefined, began: number): string {
  const at = new Date(began);
  const time = `${two(at.getUTCDate())} ${MONTHS[at.getUTCMonth()]!} ${two(at.getUTCFullYear() % 100)} ${two(at.getUTCHours())}:${two(at.getUTCMinutes())} UTC`;
  return input === undefined || input === "" ? time : `${input} ${time}`;
}

/**
 * Creates the video of a new broadcast with the settings of its input. False: the video of a continued broadcast has
 * been deleted.
 */
export async function ensureVideo(
  videos: Pick<LiveVideos, "begin" | "find">,
  { kind, video }: { kind: "begun" | "continued"; video: string },
  input: LiveInput,
  began: number,
): Promise<boolean> {
  if (video === "") return true;
  if (kind === "continued") return (await videos.find(video))?.state === "live-inprogress";
  const { requireSignedURLs, allowedOrigins } = input.recording;
  await videos.begin(input.account, video, {
    liveInput: input.uid,
    creator: input.defaultCreator,
    meta: { name: recordingName(metaText(input.meta, "name"), began) },
    requireSignedURLs,
    allowedOrigins,
  });
  return true;
}
