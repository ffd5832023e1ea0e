import type { PlayerVideo } from "../../src/stream/player/page-config.ts";
import type { Layout } from "./layout.ts";

interface ChapterDisplay {
  /** `address`: URL of the chapters as WebVTT. */
  show(chapters: PlayerVideo["chapters"], address: string): void;
}

/**
 * Shows chapters in a menu, and as a text track of the media element, from which the timeline takes its segments and
 * titles. `seek` receives seconds.
 */
export function createChapterDisplay(
  {
    video: media,
    chaptersMenu: menu,
    chaptersItem: item,
    chapterNow: now,
  }: Pick<Layout, "video" | "chaptersMenu" | "chaptersItem" | "chapterNow">,
  seek: (seconds: number) => void,
): ChapterDisplay {
  let chapters: PlayerVideo["chapters"] = [];
  let current: number | undefined;
  let track: HTMLTrackElement | undefined;

  const settings = item.parentElement!;
  menu.onSelect = seek;
  for (const event of ["timeupdate", "seeking"]) media.addEventListener(event, update);
  for (const event of ["loadedmetadata", "durationchange"]) media.addEventListener(event, extendLast);

  function update(): void {
    const index = chapters.findLastIndex(({ start }) => start <= media.currentTime);
    if (index === current) return;
    current = index;
    menu.mark(index);
    now.textContent = chapters[index]?.title ?? "";
  }

  /**
   * Extends the last chapter to the actual end. Otherwise, a small difference from the stored duration would look like
   * another chapter.
   */
  function extendLast(): void {
    const cues = track?.track.cues;
    const last = cues?.[cues.length - 1];
    if (last !== undefined && Number.isFinite(media.duration) && last.startTime < media.duration)
      last.endTime = media.duration;
  }

  return {
    show(next, address) {
      chapters = next;
      current = undefined;
      track?.remove();
      track = undefined;
      menu.show(chapters);
      update();
      // The settings menu moves the focus to its first item, even if that item is not displayed.
      item.remove();
      if (chapters.length === 0) return;
      settings.prepend(item);
      track = document.createElement("track");
      Object.assign(track, { kind: "chapters", label: "Chapters", default: true, src: address });
      track.addEventListener("load", extendLast);
      media.append(track);
    },
  };
}
