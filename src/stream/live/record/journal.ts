import type { ObjectStore } from "../../../store/index.ts";
import type { LiveFragment } from "../fragments.ts";

/** Fragments of one run in arrival order: one page of data that has not been added to a segment. */
interface JournalPage {
  run: string;
  fragments: LiveFragment[];
}

/** Pages are stored as objects next to the segments. A page is deleted when all its data is in segments. */
export interface Journal {
  write(key: string, page: JournalPage): Promise<void>;
  /** Returns the pages of each writer in order. Unreadable pages are skipped. */
  read(video: string): Promise<{ key: string; page: JournalPage }[]>;
  delete(keys: readonly string[]): Promise<void>;
}

/** Returns the prefix of the keys of all pages of a video. */
export const journalFolder = (video: string): string => `stream/${video}/live/open/`;
const PAGE_NUMBER_DIGITS = 10;
/**
 * Returns the key of a page. `writer`: see liveSegmentKey(). Each writer numbers its pages from 0. Keys of earlier
 * versions contain no writer.
 */
export const pageKey = (video: string, writer: string, number: number): string =>
  `${journalFolder(video)}${writer}/${String(number).padStart(PAGE_NUMBER_DIGITS, "0")}`;
/** Each page holds a few seconds: one broadcast cannot leave more pages. */
const MAX_PAGES = 10_000;

export function createJournal(objects: Pick<ObjectStore, "put" | "open" | "list" | "delete">): Journal {
  return {
    async write(key, page) {
      await objects.put(key, encodeJournalPage(page));
    },
    async read(video) {
      const pages: { key: string; page: JournalPage }[] = [];
      for await (const { key } of objects.list(journalFolder(video))) {
        if (pages.length >= MAX_PAGES) break;
        const page = decodePage((await (await objects.open(key))?.bytes()) ?? Buffer.alloc(0));
        if (page !== undefined) pages.push({ key, page });
      }
      return pages;
    },
    async delete(keys) {
      if (keys.length > 0) await objects.delete([...keys]);
    },
  };
}

interface Head {
  run: string;
  fragments: (Omit<LiveFragment, "bytes"> & { size: number })[];
}

/** Encodes a page: the header length in four octets, the header as JSON, then the octets of all fragments. */
export function encodeJournalPage({ run, fragments }: JournalPage): Buffer {
  const head = Buffer.from(
    JSON.stringify({
      run,
      fragments: fragments.map(({ bytes, ...about }) => ({ ...about, size: bytes.length })),
    } satisfies Head),
  );
  const length = Buffer.alloc(4);
  length.writeUInt32BE(head.length);
  return Buffer.concat([length, head, ...fragments.map(({ bytes }) => bytes)]);
}

/** Undefined if it is not a valid page. */
export function decodePage(bytes: Buffer): JournalPage | undefined {
  if (bytes.length < 4) return undefined;
  let at = 4 + bytes.readUInt32BE(0);
  if (at > bytes.length) return undefined;
  try {
    const { run, fragments } = JSON.parse(bytes.toString("utf8", 4, at)) as Head;
    return {
      run,
      fragments: fragments.map(({ size, ...about }) => ({ ...about, bytes: bytes.subarray(at, (at += size)) })),
    };
  } catch {
    return undefined;
  }
}
