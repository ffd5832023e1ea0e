import type { Clock, Log } from "../../../kernel/index.ts";
import { isStoreError, type ObjectStore } from "../../../store/index.ts";
import type { LiveFragment, LiveRun, RunSink } from "../fragments.ts";
import { liveInitKey, liveSegmentKey, type LiveTimeline, type CutSegment } from "../timeline.ts";
import { type Journal, pageKey } from "./journal.ts";
import { createPendingFragments } from "./pending.ts";
import type { Recording } from "./port.ts";
import type { RecordTable } from "./record-table.ts";

interface RecordingDeps {
  video: string;
  timeline: LiveTimeline;
  table: RecordTable;
  journal: Journal;
  objects: Pick<ObjectStore, "put" | "delete">;
  /** Part of the object keys of this recording; see liveSegmentKey(). */
  writer: string;
  clock: Clock;
  log: Log;
  /** Interval in milliseconds between two pages of unfinished data. */
  pageMs: number;
  /** Maximum octets queued for the disk. */
  maxQueuedOctets: number;
  onFault(err: unknown): void;
}

type NumberedPage = ReturnType<ReturnType<typeof createPendingFragments>["pages"]>[number] & { number: number };

/** Delay in milliseconds before a failed write is retried, doubled from `first` up to `longest`. */
const RETRY_DELAYS_MS = { first: 200, longest: 5000 };
/** Maximum time to wait for a failing store when closing a recording. */
const CLOSING_MS = 20_000;

/**
 * Writes sequentially in arrival order. Failed writes are retried until they succeed, so a store or database outage of
 * a minute loses no data. The remaining data is discarded only if `maxQueuedOctets` octets are queued or the recording
 * is closed in the meantime.
 */
export function createRecording(parts: RecordingDeps): Recording {
  const { video, timeline, table, journal, objects, writer, clock, log, pageMs, maxQueuedOctets } = parts;
  const pending = createPendingFragments();
  const giveUpController = new AbortController();
  const giveUpSignal = giveUpController.signal;
  let queue = Promise.resolve();
  let waitingOctets = 0;
  let hasReported = false;
  let isClosed = false;
  /** Time at which failing writes are abandoned. */
  let deadline = Infinity;
  let pageCount = 0;
  /** Pages that could not be written. A retry writes the same bytes under the same key. */
  let unwrittenPages: NumberedPage[] = [];
  let pagedAt = -Infinity;
  let isPaging = false;

  function enqueue(size: number, work: () => Promise<void>) {
    if (giveUpSignal.aborted || isClosed) return;
    waitingOctets += size;
    if (waitingOctets > maxQueuedOctets) return giveUp(tooSlowError(waitingOctets));
    queue = queue
      .then(() => retryUntilWritten(work))
      .finally(() => {
        waitingOctets -= size;
      });
  }

  async function retryUntilWritten(work: () => Promise<void>) {
    for (
      let retryDelayMs = RETRY_DELAYS_MS.first, failures = 0;
      !giveUpSignal.aborted;
      retryDelayMs = Math.min(2 * retryDelayMs, RETRY_DELAYS_MS.longest)
    ) {
      try {
        await work();
        if (failures > 0) log.info({ video, failures }, "live: recording resumed");
        return;
      } catch (err) {
        if (failures++ === 0) log.warn({ err, video }, "live: failed to write a recording, will retry");
        // The operator has to free space: retrying alone does not help.
        if (isStoreError(err) && err.entry.http === 507) report(err);
        if (clock.now() >= deadline) return giveUp(err);
        await clock.sleep(Math.min(retryDelayMs, Math.max(0, deadline - clock.now())), giveUpSignal).catch(() => {});
      }
    }
  }

  function giveUp(err: unknown) {
    if (giveUpSignal.aborted) return;
    giveUpController.abort();
    log.error({ err, video }, "live: recording stopped; the rest of the broadcast will not be stored");
    report(err);
  }

  function report(err: unknown) {
    if (hasReported) return;
    hasReported = true;
    parts.onFault(err);
  }

  async function writePages() {
    if (unwrittenPages.length === 0) unwrittenPages = pending.pages().map((page) => ({ ...page, number: pageCount++ }));
    for (let page = unwrittenPages[0]; page !== undefined; page = unwrittenPages[0]) {
      const { number, run, fragments } = page;
      await journal.write(pageKey(video, writer, number), { run, fragments });
      page.written(number);
      unwrittenPages.shift();
    }
  }

  function takeFragment(run: string, fragment: LiveFragment) {
    if (giveUpSignal.aborted || isClosed) return;
    pending.add(run, fragment);
    if (pending.octets() > maxQueuedOctets) return giveUp(tooSlowError(pending.octets()));
    if (isPaging || clock.now() - pagedAt < pageMs) return;
    isPaging = true;
    enqueue(pending.unwritten(), async () => {
      pagedAt = clock.now();
      isPaging = false;
      await writePages();
    });
  }

  async function write({ run, segment, bytes }: CutSegment, ends: Record<string, number>, emptied: readonly number[]) {
    const pieces = Object.entries(bytes);
    const keyOf = (rendition: string) => liveSegmentKey(video, rendition, { n: segment.n, run, writer });
    // Wait for all writes before failing, so that none finishes after a later write.
    const written = await Promise.allSettled(
      pieces.map(([rendition, parts]) => objects.put(keyOf(rendition), Buffer.concat(parts))),
    );
    const sizes = written.map((writeResult) => {
      if (writeResult.status === "rejected") throw writeResult.reason;
      return writeResult.value.size;
    });
    const { n, start, durations, starts } = segment;
    const isInserted = await table.insertSegment(video, {
      n,
      run,
      start,
      durations,
      ...(starts && { starts }),
      ends,
      size: sizes.reduce((sum, size) => sum + size, 0),
      writer,
    });
    if (!isInserted) {
      giveUp(new Error(`another process has stored segment ${n} of this recording`));
      return objects.delete(pieces.map(([rendition]) => keyOf(rendition)));
    }
    await journal.delete(emptied.map((number) => pageKey(video, writer, number)));
  }

  return {
    timeline,
    run({ id, started, renditions }: LiveRun): RunSink {
      enqueue(0, () => table.insertRun(video, { id, started, renditions: [...renditions] }));
      return {
        init: (rendition, bytes) =>
          enqueue(bytes.length, async () => void (await objects.put(liveInitKey(video, rendition, id), bytes))),
        fragment: (fragment) => takeFragment(id, fragment),
        end() {},
      };
    },
    addSegment(cut) {
      const ends: Record<string, number> = {};
      let size = 0;
      for (const [rendition, bytes] of Object.entries(cut.bytes)) {
        const end = cut.segment.start + (cut.segment.durations[rendition] ?? 0);
        ends[rendition] = pending.remove(cut.run, rendition, { bytes, end }) ?? end;
        size += bytes.reduce((sum, { length }) => sum + length, 0);
      }
      // Computed immediately: queued segments may empty other pages before this write runs.
      const emptied = pending.takeEmptyPages();
      enqueue(size, () => write(cut, ends, emptied));
    },
    async settled() {
      const timeout = new AbortController();
      await Promise.race([emptied(), clock.sleep(CLOSING_MS, timeout.signal).catch(() => {})]);
      timeout.abort();
    },
    async close() {
      enqueue(pending.unwritten(), writePages);
      isClosed = true;
      deadline = clock.now() + CLOSING_MS;
      await queue;
    },
  };

  async function emptied() {
    let last;
    // Also waits for data that was queued in the meantime.
    while (last !== queue) await (last = queue);
  }
}

const tooSlowError = (octets: number) =>
  new Error(`too much data of a broadcast is waiting to be segmented or written: ${octets} octets`);
