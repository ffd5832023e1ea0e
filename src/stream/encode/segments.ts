import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, type Log, UserError } from "../../kernel/index.ts";
import type { ObjectHandle, ObjectStore } from "../../store/index.ts";
import type { AudioSources } from "../audio/port.ts";
import { streamErrors } from "../errors.ts";
import type { MediaTools } from "../media/port.ts";
import { MediaRunError } from "../media/run-error.ts";
import type { Video } from "../videos/video.ts";
import { audioInit } from "./audio-fragments.ts";
import { createFilling, type Filling } from "./filling.ts";
import { createKept, VideoGone } from "./kept.ts";
import { createMaker } from "./maker.ts";
import { segmentKey, type Segments } from "./port.ts";
import { createScratch } from "../scratch.ts";
import { isAwaited, pick, type Run, type Waiter, type Wish } from "./wishes.ts";

export interface SegmentsParts {
  tools: MediaTools;
  objects: ObjectStore;
  clock: Clock;
  log: Log;
  /** Where added audio tracks lie. Absent: there are none. */
  audio?: AudioSources;
  /** Whether a video is still there; asked after a segment was made. Default: yes. */
  isThere?: (uid: string) => Promise<boolean>;
  /** Concurrent encoder runs for segments that viewers wait for; look-ahead leaves one slot free. 0 (default): one per processor, at least two. */
  concurrency?: number;
  /** Segments that may be waited for at once. Default 1000. */
  mostWaiting?: number;
  /** For runs with several renditions: a folder of our own. Default: in the system's temporary folder. */
  scratch?: string;
}

export interface SegmentsRoom extends Segments, Filling {}

/** Segments that are made before anybody asks for them. */
const AHEAD = 2;
/** That wait without anybody waiting for them: more are not of use soon. */
const MOST_AHEAD = 100;
/** Runs that may end badly before those who wait are told. */
const TRIES = 2;
const SHUTTING_DOWN = "the server is shutting down";

export function createSegments(parts: SegmentsParts): SegmentsRoom {
  const { objects, log, audio, mostWaiting = 1000 } = parts;
  const concurrency = parts.concurrency || Math.max(2, availableParallelism());
  const scratch = createScratch(parts.scratch ?? join(tmpdir(), "reelpost-encode"));
  const kept = createKept({
    objects,
    log,
    isThere: parts.isThere ?? (() => Promise.resolve(true)),
    onKept: (uid, rendition, n) => void arrived(segmentKey(uid, rendition, n)),
  });
  const maker = createMaker({ ...parts, scratch, kept, ...(audio && { audio }) });
  const wishes = new Map<string, Wish>();
  const runs = new Set<Run>();
  const working = new Set<Promise<void>>();
  let closed = false;

  /** It is kept now: by a run of ours, or by the background. */
  async function arrived(key: string) {
    const wish = wishes.get(key);
    if (wish === undefined) return;
    wishes.delete(key);
    wish.run?.wishes.delete(wish);
    if (wish.waiters.size === 0) return;
    await kept.open(wish.video.uid, wish.rendition, wish.n).then(
      (handle) => tell(wish, (waiter) => waiter.resolve(handle)),
      (err: unknown) => tell(wish, (waiter) => waiter.reject(err)),
    );
  }

  function tell(wish: Wish, say: (waiter: Waiter) => void) {
    wishes.delete(wish.key);
    for (const waiter of wish.waiters) say(waiter);
    wish.waiters.clear();
  }

  const queued = () => [...wishes.values()].filter(({ run }) => run === undefined);

  function dispatch() {
    while (startNext()) continue;
  }

  function startNext(): boolean {
    if (closed || wishes.size === 0) return false;
    const waiting = queued();
    const urgent = pick(waiting, runs, "urgent", maker.isAudio);
    const running = [...runs].filter(({ urgency }) => urgency === "urgent").length;
    if (urgent.length > 0) {
      if (runs.size >= concurrency || running + 1 > concurrency / 2) makeRoom();
      return runs.size < concurrency && start(urgent, "urgent");
    }
    // What nobody waits for takes no processor away from what somebody waits for.
    const soon =
      running > concurrency / 2 - 1 || runs.size >= Math.max(1, concurrency - 1)
        ? []
        : pick(waiting, runs, "soon", maker.isAudio);
    return soon.length > 0 && start(soon, "soon");
  }

  /** What nobody waits for gives way: it is made again when its time has come. */
  function makeRoom() {
    for (const run of runs) if (run.urgency === "soon" && !isAwaited(run)) run.control.abort();
  }

  function start(row: readonly Wish[], urgency: Run["urgency"]): true {
    const [first] = row as [Wish];
    const run: Run = {
      video: first.video,
      rendition: first.rendition,
      urgency,
      wishes: new Set(row),
      control: new AbortController(),
      awaited: new AbortController(),
    };
    for (const n of following(run)) run.wishes.add(wishFor(run.video, run.rendition, n));
    for (const wish of run.wishes) wish.run = run;
    runs.add(run);
    const work = execute(run).finally(() => {
      runs.delete(run);
      working.delete(work);
      dispatch();
    });
    working.add(work);
    return true;
  }

  /** Of sound what comes next costs next to nothing. */
  function following({ video, rendition, wishes: own }: Run): number[] {
    if (!maker.isAudio(rendition)) return [];
    const row = maker.audioRow(
      video,
      [...own].map(({ n }) => n as number),
    );
    const taken = row.findIndex(
      (n) =>
        kept.remembers(video.uid, rendition, n) || wishes.get(segmentKey(video.uid, rendition, n))?.run !== undefined,
    );
    return taken === -1 ? row : row.slice(0, taken);
  }

  async function execute(run: Run) {
    try {
      await maker.make(run);
      // Only who made nothing and said nothing of it leaves something behind.
      for (const wish of run.wishes)
        tell(wish, (waiter) => waiter.reject(streamErrors.encodingFailed({ reason: "the encoder left it out" })));
    } catch (err) {
      for (const wish of run.wishes) afterFailure(wish, err, run.control.signal.aborted);
    }
  }

  function afterFailure(wish: Wish, err: unknown, stopped: boolean) {
    wish.run = undefined;
    if (wish.waiters.size === 0) return void wishes.delete(wish.key);
    if (closed) return tell(wish, (waiter) => waiter.reject(streamErrors.encodingFailed({ reason: SHUTTING_DOWN })));
    if (err instanceof VideoGone) return tell(wish, (waiter) => waiter.resolve(undefined));
    // Somebody came for it while it was being stopped.
    if (stopped) return;
    if (err instanceof UserError) return tell(wish, (waiter) => waiter.reject(err));
    wish.failures++;
    const { video, rendition, n, failures } = wish;
    log.warn(
      {
        err,
        video: video.uid,
        rendition,
        segment: n,
        failures,
        ...(err instanceof MediaRunError && { stderr: err.stderr.slice(-1000) }),
      },
      "a segment that somebody waits for could not be encoded",
    );
    if (failures >= TRIES)
      tell(wish, (waiter) => waiter.reject(streamErrors.encodingFailed({ reason: reasonOf(err) }, { cause: err })));
  }

  function wishFor(video: Video, rendition: string, n: number | "init"): Wish {
    const key = segmentKey(video.uid, rendition, n);
    const before = wishes.get(key);
    if (before !== undefined) return before;
    const wish: Wish = { key, video, rendition, n, waiters: new Set(), run: undefined, failures: 0 };
    wishes.set(key, wish);
    return wish;
  }

  function wait(
    video: Video,
    rendition: string,
    n: number | "init",
    signal: AbortSignal | undefined,
  ): Promise<ObjectHandle | undefined> {
    const before = wishes.get(segmentKey(video.uid, rendition, n));
    if ((before === undefined || before.waiters.size === 0) && awaited() >= mostWaiting)
      throw streamErrors.encoderBusy({ waiting: mostWaiting });
    const wish = before ?? wishFor(video, rendition, n);
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        resolve(handle) {
          signal?.removeEventListener("abort", leave);
          resolve(handle);
        },
        reject(err) {
          signal?.removeEventListener("abort", leave);
          reject(err as Error);
        },
      };
      const leave = () => {
        wish.waiters.delete(waiter);
        takeBack(wish);
        reject(signal!.reason as Error);
      };
      wish.waiters.add(waiter);
      wish.run?.awaited.abort();
      signal?.addEventListener("abort", leave, { once: true });
      dispatch();
    });
  }

  const awaited = () => [...wishes.values()].filter(({ waiters }) => waiters.size > 0).length;

  function takeBack(wish: Wish) {
    if (wish.waiters.size > 0) return;
    if (wish.run === undefined) wishes.delete(wish.key);
    else if (wish.run.urgency === "urgent" && !isAwaited(wish.run)) wish.run.control.abort();
  }

  /** Whoever has segment n wants the next ones in some seconds. */
  async function goAhead(video: Video, rendition: string, n: number) {
    if (video.state === "ready") return;
    for (let next = n + 1; next <= n + AHEAD && next < video.model!.segments.count; next++) {
      if (closed || kept.remembers(video.uid, rendition, next) || wishes.has(segmentKey(video.uid, rendition, next)))
        continue;
      if ((await kept.open(video.uid, rendition, next)) !== undefined || closed) continue;
      if (queued().filter(({ waiters }) => waiters.size === 0).length < MOST_AHEAD) wishFor(video, rendition, next);
    }
    dispatch();
  }

  const ahead = (video: Video, rendition: string, n: number | "init") => {
    if (n !== "init")
      void goAhead(video, rendition, n).catch((err: unknown) =>
        log.warn({ err, video: video.uid }, "segments could not be made ahead"),
      );
  };

  return {
    ...createFilling({ ...parts, kept, maker }),
    async stored(video, rendition, n) {
      return (await maker.has(video, rendition, n)) ? kept.open(video.uid, rendition, n) : undefined;
    },
    async get(video, rendition, n, { signal, ahead: wanted = true } = {}) {
      if (!(await maker.has(video, rendition, n))) return undefined;
      // Twice: it may come between the look and the answer.
      const handle =
        (await kept.open(video.uid, rendition, n)) ??
        (kept.remembers(video.uid, rendition, n) ? await kept.open(video.uid, rendition, n) : undefined);
      if (handle !== undefined) {
        if (wanted) ahead(video, rendition, n);
        return handle;
      }
      signal?.throwIfAborted();
      if (closed) throw streamErrors.encodingFailed({ reason: SHUTTING_DOWN });
      if (n === "init" && maker.isAudio(rendition)) {
        await kept.keep(video.uid, rendition, n, audioInit());
        return kept.open(video.uid, rendition, n);
      }
      const made = await wait(video, rendition, n, signal);
      if (wanted) ahead(video, rendition, n);
      return made;
    },
    async close() {
      closed = true;
      for (const wish of queued())
        tell(wish, (waiter) => waiter.reject(streamErrors.encodingFailed({ reason: SHUTTING_DOWN })));
      for (const { control } of runs) control.abort();
      await Promise.allSettled(working);
    },
  };
}

/** What viewers may know. */
function reasonOf(err: unknown): string {
  if (err instanceof MediaRunError)
    return {
      failed: "the source cannot be decoded here",
      timeout: "it took too long",
      killed: "the encoder was killed",
      memory: "the encoder ran out of memory",
      output: "it became too large",
      input: "it did not take what it was given",
      aborted: "it was not wanted any more",
      closed: SHUTTING_DOWN,
      missing: "ffmpeg is missing",
    }[err.reason];
  return err instanceof Error && ["SourceGone", "Mp4Error", "PicturesMissing"].includes(err.name)
    ? "the source has no pictures or sound there that fit"
    : "of a fault of the server, which its log tells";
}
