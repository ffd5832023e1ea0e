import { Events, type Level, type default as HlsPlayer } from "hls.js";
import { ORIGINAL } from "./quality-menu.ts";

/** The video renditions API that the controls expect on a media element; no browser implements it. */
interface Rendition {
  id: string;
  width: number;
  height: number;
  bitrate: number;
}

/** An array that dispatches change events. */
class SourceList<Item> extends EventTarget {
  [index: number]: Item;
  length = 0;

  fill(items: readonly Item[]): void {
    for (let index = 0; index < this.length; index++) delete this[index];
    items.forEach((item, index) => {
      this[index] = item;
    });
    this.length = items.length;
  }

  *[Symbol.iterator](): Iterator<Item> {
    for (let index = 0; index < this.length; index++) yield this[index] as Item;
  }
}

/** The server names the playlist of the uploaded file `source` (`SOURCE_RENDITION`). */
const isOriginal = ({ uri }: Level): boolean => /\/source\.m3u8(?:\?|$)/.test(uri);

class Renditions extends SourceList<Rendition> {
  #hls: HlsPlayer | undefined;

  show(hls: HlsPlayer | undefined): void {
    this.#hls = hls;
    this.fill(
      (hls?.levels ?? []).map((level, index) => ({
        id: `${index}${isOriginal(level) ? ORIGINAL : ""}`,
        width: level.width,
        height: level.height,
        bitrate: level.bitrate,
      })),
    );
    this.dispatchEvent(new Event(this.length > 0 ? "addrendition" : "removerendition"));
    this.dispatchEvent(new Event("change"));
  }

  get selectedIndex(): number {
    return this.#hls?.manualLevel ?? -1;
  }

  /** -1: automatic. Discards the buffered data of other qualities, so that the choice takes effect immediately. */
  set selectedIndex(index: number) {
    if (this.#hls !== undefined) this.#hls.nextLevel = index;
    this.dispatchEvent(new Event("change"));
  }
}

interface AudioTrackItem {
  readonly id: string;
  readonly label: string;
  readonly language: string;
  readonly kind: string;
  enabled: boolean;
}

class AudioTracks extends SourceList<AudioTrackItem> {
  show(hls: HlsPlayer | undefined): void {
    this.fill(
      (hls?.audioTracks ?? []).map((track, index) => ({
        id: String(index),
        label: track.name,
        language: track.lang ?? "",
        kind: track.default ? "main" : "alternative",
        get enabled() {
          return hls?.audioTrack === index;
        },
        set enabled(value: boolean) {
          if (value && hls !== undefined) hls.audioTrack = index;
        },
      })),
    );
    this.dispatchEvent(new Event(this.length > 0 ? "addtrack" : "removetrack"));
    this.dispatchEvent(new Event("change"));
  }

  changed(): void {
    this.dispatchEvent(new Event("change"));
  }
}

interface SourceLists {
  /** Shows the renditions of this source and keeps them up to date. */
  follow(hls: HlsPlayer): void;
  clear(): void;
}

/** Adds the two lists to `video`; call it before the controls are connected. */
export function addSourceLists(video: HTMLVideoElement): SourceLists {
  const renditions = new Renditions();
  const audioTrackList = new AudioTracks();
  Object.defineProperty(video, "videoRenditions", { value: renditions });
  Object.defineProperty(video, "audioTracks", { value: audioTrackList });
  return {
    follow(hls) {
      hls.on(Events.MANIFEST_PARSED, () => renditions.show(hls));
      hls.on(Events.LEVELS_UPDATED, () => renditions.show(hls));
      hls.on(Events.AUDIO_TRACKS_UPDATED, () => audioTrackList.show(hls));
      hls.on(Events.AUDIO_TRACK_SWITCHED, () => audioTrackList.changed());
    },
    clear() {
      renditions.show(undefined);
      audioTrackList.show(undefined);
    },
  };
}
