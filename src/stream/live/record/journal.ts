import type { ObjectStore } from "../../../store/index.ts";
import type { LiveFragment } from "../fragments.ts";

/** Fragments of one run in arrival order: one page of data that has not been added to a segment. */
interface JournalPage {
  run: string;
  fragments: LiveFragment[];
}

/**
 * Pages are objects alongside the segments, numbered in writing order; a page is deleted when all its data is in
 * segments.
 */
export interface Journal {
  write(video: string, number: number, page: JournalPage): Promise<void>;
  /** Returns the pages in order. Unreadable pages are skipped. */
  read(video: string): Promise<{ number: number; page: JournalPage }[]>;
  delete(video: string, numbers: readonly number[]): Promise<void>;
}

const folder = (video: string) => `stream/${video}/live/open/`;
const PAGE_NUMBER_DIGITS = 10;
const keyOf = (video: string, number: number) => `${folder(video)}${String(number).padStart(PAGE_NUMBER_DIGITS, "0")}`;
/** Each page holds a few seconds: one broadcast cannot leave more pages. */
const MAX_PAGES = 10_000;

export function createJournal(objects: Pick<ObjectStore, "put" | "open" | "list" | "delete">): Journal {
  return {
    async write(video, number, page) {
      await objects.put(keyOf(video, number), encodeJournalPage(page));
    },
    async read(video) {
      const pages: { number: number; page: JournalPage }[] = [];
      for await (const { key } of objects.list(folder(video))) {
        if (pages.length >= MAX_PAGES) break;
        const page = decodePage((await (await objects.open(key))?.bytes()) ?? Buffer.alloc(0));
        if (page !== undefined) pages.push({ number: Number(key.slice(folder(video).length)), page });
      }
      return pages;
    },
    async delete(video, numbers) {
      if (numbers.length > 0) await objects.delete(numbers.map((number) => keyOf(video, number)));
    },
  };
}

interface Head {
  run: string;
  fragments: (Omit<LiveFragment, "bytes"> & { size: number })[];
}

/** Header length in four octets, the header as JSON, then the octets of all fragments. */
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

/** Undefined: not a valid page. */
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
