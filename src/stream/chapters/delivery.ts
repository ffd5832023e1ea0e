import type { DeliveryRoute } from "../delivery/index.ts";
import { formatChapters } from "./chapter-list.ts";
import type { Chapters } from "./port.ts";

const CACHE_SECONDS = 60;

/** Serves the chapters as a text track for players; the track of a video without chapters is empty. */
export const chapterRoutes = (chapters: Pick<Chapters, "of">): DeliveryRoute[] => [
  {
    path: "chapters.vtt",
    purpose: "play",
    async handle({ video, sendText }) {
      sendText(formatChapters(await chapters.of(video), video.duration), {
        type: "text/vtt; charset=utf-8",
        cache: CACHE_SECONDS,
      });
    },
  },
];
