import type { Clock, Log } from "../../../kernel/index.ts";
import type { ObjectStore } from "../../../store/index.ts";
import type { LiveFragment, LiveRun, RunSink } from "../fragments.ts";
import { liveInitKey, liveSegmentKey, type LiveTimeline } from "../timeline.ts";
import type { Journal } from "./journal.ts";
import { createPending } from "./pending.ts";
import type { CutSegment, Recording } from "./port.ts";
import type { RecordTable } from "./record-table.ts";

export interface RecordingParts {
  video: string;
  timeline: LiveTimeline;
  table: RecordTable;
  journal: Journal;
  objects: Pick<ObjectStore, "put">;
  clock: Pick<Clock, "now">;
  log: Log;
  /** Milliseconds between two pages of what is in no segment yet. */
  pageMs: number;
  /** Octets that may wait for the disk. */
  mostWaiting: number;
  onFault(err: unknown): void;
}

/** Writes in the order in which things came, one after the other; after the first that cannot be written nothing more is. */
export function createRecording(parts: RecordingParts): Recording {
  const { video, timeline, table, journal, objects, clock, log, pageMs, mostWaiting } = parts;
  const pending = createPending();
  let queue = Promise.resolve();
  let waiting = 0;
  let faulty = false;
  let closed = false;
  let page = 0;
  let pagedAt = -Infinity;
  let paging = false;

  function enqueue(size: number, work: () => Promise<void>) {
    if (faulty || closed) return;
    waiting += size;
    if (waiting > mostWaiting) return fault(tooSlow(waiting));
    queue = queue.then(async () => {
      if (!faulty) await work();
    }).catch(fault).finally(() => {
      waiting -= size;
    });
  }

  function fault(err: unknown) {
    if (faulty) return;
    faulty = true;
    log.error({ err, video }, "a broadcast cannot be recorded any further");
    parts.onFault(err);
  }

  async function writePages() {
    for (const { run, fragments, written } of pending.pages()) {
      const number = page++;
      await journal.write(video, number, { run, fragments });
      written(number);
    }
  }

  function take(run: string, fragment: LiveFragment) {
    if (faulty || closed) return;
    pending.add(run, fragment);
    if (pending.octets() > mostWaiting) return fault(tooSlow(pending.octets()));
    if (paging || clock.now() - pagedAt < pageMs) return;
    paging = true;
    enqueue(pending.unwritten(), async () => {
      pagedAt = clock.now();
      paging = false;
      await writePages();
    });
  }

  async function write({ run, segment, bytes }: CutSegment, ends: Record<string, number>, emptied: readonly number[]) {
    const pieces = Object.entries(bytes);
    const sizes = await Promise.all(pieces.map(async ([rendition, parts]) => (await objects.put(liveSegmentKey(video, rendition, segment.n), Buffer.concat(parts))).size));
    const { n, start, durations } = segment;
    await table.insertSegment(video, { n, run, start, durations, ends, size: sizes.reduce((sum, size) => sum + size, 0) });
    await journal.delete(video, emptied);
  }

  return {
    timeline,
    run({ id, started, renditions }: LiveRun): RunSink {
      enqueue(0, () => table.insertRun(video, { id, started, renditions: [...renditions] }));
      return {
        init: (rendition, bytes) => enqueue(bytes.length, async () => void (await objects.put(liveInitKey(video, rendition, id), bytes))),
        fragment: (fragment) => take(id, fragment),
        end() {},
      };
    },
    keep(cut) {
      const ends: Record<string, number> = {};
      let size = 0;
      for (const [rendition, bytes] of Object.entries(cut.bytes)) {
        const end = cut.segment.start + (cut.segment.durations[rendition] ?? 0);
        ends[rendition] = pending.take(cut.run, rendition, { bytes, end }) ?? end;
        size += bytes.reduce((sum, { length }) => sum + length, 0);
      }
      // Now: when this is written, segments that wait behind it may have taken what stands on other pages.
      const emptied = pending.emptied();
      enqueue(size, () => write(cut, ends, emptied));
    },
    async settled() {
      let last;
      // What was handed over meanwhile is waited for too.
      while (last !== queue) await (last = queue);
    },
    async close() {
      enqueue(pending.unwritten(), writePages);
      closed = true;
      await queue;
    },
  };
}

const tooSlow = (octets: number) => new Error(`${octets} octets of a broadcast wait to be cut or written`);
