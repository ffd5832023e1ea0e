import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, type Log, UserError } from "../../kernel/index.ts";
import type { ObjectHandle, ObjectStore } from "../../store/index.ts";
import { streamErrors } from "../errors.ts";
import { MediaRunError, type MediaTools } from "../media/index.ts";
import type { Video } from "../videos/index.ts";
import { audioInitSegment } from "./audio-fragments.ts";
import { createBackgroundEncoding, type BackgroundEncoding } from "./background-encode.ts";
import { createSegmentStore, VideoDeleted } from "./segment-store.ts";
import { createSegmentEncoder } from "./segment-encoder.ts";
import { createFollower } from "./follower.ts";
import { type AudioSources, type GrowingSegment, segmentKey, type Segments } from "./port.ts";
import { createScratch } from "../scratch.ts";
import { isAwaited, nextBatch, type EncoderRun, type Waiter, type SegmentRequest } from "./segment-requests.ts";

export interface SegmentsDeps {
  tools: MediaTools;
  objects: ObjectStore;
  clock: Clock;
  log: Log;
  /** Sources of added audio tracks. If absent, there are none. */
  audio?: AudioSources;
  /** Resolves with true if a video still exists; called after a segment has been encoded. Default: always true. */
  videoExists?: (uid: string) => Promise<boolean>;
  /**
   * Concurrent encoder runs for segments that viewers wait for; look-ahead leaves one slot free. 0 (default): one per
   * processor, at least two.
   */
  concurrency?: number;
  /** Maximum number of awaited segments. Default 1000. */
  maxWaiting?: number;
  /** Private directory for runs with several renditions. Default: in the system's temporary directory. */
  scratch?: string;
  /** See RunDeps. */
  stallMs?: number;
}

export interface SegmentsModule extends Segments, BackgroundEncoding {}

/** Segments that are encoded ahead of a viewer. */
const LOOKAHEAD_SEGMENTS = 2;
/** Maximum number of queued look-ahead requests; more would not be used soon. */
const MAX_LOOKAHEADS = 100;
/** Number of failed runs after which the waiters receive the error. */
const TRIES = 2;
const SHUTTING_DOWN = "the server is shutting down";

export function createSegments(deps: SegmentsDeps): SegmentsModule {
  const { objects, log, audio, maxWaiting = 1000 } = deps;
  const concurrency = deps.concurrency || Math.max(2, availableParallelism());
  const scratch = createScratch(deps.scratch ?? join(tmpdir(), "reelpost-encode"));
  const store = createSegmentStore({
    objects,
    log,
    videoExists: deps.videoExists ?? (() => Promise.resolve(true)),
    onStored: (uid, rendition, n, bytes) => void completeRequest(segmentKey(uid, rendition, n), bytes),
  });
  const encoder = createSegmentEncoder({ ...deps, scratch, store, ...(audio && { audio }) });
  const requests = new Map<string, SegmentRequest>();
  const runs = new Set<EncoderRun>();
  const activeWork = new Set<Promise<void>>();
  let isClosed = false;

  /** Called when a segment is stored, by a run or by background encoding. `bytes`: if known, those of the object. */
  async function completeRequest(key: string, bytes: Buffer | undefined) {
    const request = requests.get(key);
    if (request === undefined) return;
    requests.delete(key);
    request.run?.requests.delete(request);
    if (request.waiters.size === 0) return;
    try {
      const handle = await store.open(request.video.uid, request.rendition, request.n);
      await verifyChunks(request, bytes ?? handle);
      settle(request, (waiter) => waiter.resolve(handle));
    } catch (err) {
      settle(request, (waiter) => waiter.reject(err));
    }
  }

  /** The encoder's output depends on the number of its threads, so another process may have stored other octets. */
  async function verifyChunks(request: SegmentRequest, stored: Buffer | ObjectHandle | undefined) {
    if (request.chunks.length === 0 || stored === undefined) return;
    const sent = Buffer.concat(request.chunks);
    const storedBytes = Buffer.isBuffer(stored) ? stored : await stored.bytes();
    if (!storedBytes.subarray(0, sent.length).equals(sent)) voidChunks(request, "it was stored by another encoder run");
  }

  function addChunk(run: EncoderRun, n: number, chunk: Buffer, isFirst: boolean) {
    const request = requests.get(segmentKey(run.video.uid, run.rendition, n));
    if (request?.run !== run) return;
    if (isFirst) voidChunks(request, "the encoder was restarted");
    request.chunks.push(chunk);
    for (const waiter of request.waiters) waiter.onChunk?.(request.chunks);
  }

  /** Rejects the waiters that have received chunks which will not be continued. */
  function voidChunks(request: SegmentRequest, reason: string) {
    if (request.chunks.length === 0) return;
    request.chunks = [];
    for (const waiter of request.waiters) {
      if (waiter.onChunk === undefined) continue;
      request.waiters.delete(waiter);
      waiter.reject(streamErrors.encodingFailed({ reason }));
    }
  }

  function settle(request: SegmentRequest, notify: (waiter: Waiter) => void) {
    requests.delete(request.key);
    for (const waiter of request.waiters) notify(waiter);
    request.waiters.clear();
  }

  const queuedRequests = () => [...requests.values()].filter(({ run }) => run === undefined);

  function dispatch() {
    while (startNext()) continue;
  }

  function startNext(): boolean {
    if (isClosed || requests.size === 0) return false;
    const waitingRequests = queuedRequests();
    const urgent = nextBatch(waitingRequests, runs, "urgent", encoder.isAudio);
    const runningUrgent = [...runs].filter(({ urgency }) => urgency === "urgent").length;
    if (urgent.length > 0) {
      if (runs.size >= concurrency || runningUrgent + 1 > concurrency / 2) preemptLookahead();
      return runs.size < concurrency && start(urgent, "urgent");
    }
    // Look-ahead must not take CPU time from awaited requests.
    const lookahead =
      runningUrgent > concurrency / 2 - 1 || runs.size >= Math.max(1, concurrency - 1)
        ? []
        : nextBatch(waitingRequests, runs, "soon", encoder.isAudio);
    return lookahead.length > 0 && start(lookahead, "soon");
  }

  /** Aborts look-ahead runs; their segments are requested again later. */
  function preemptLookahead() {
    for (const run of runs) if (run.urgency === "soon" && !isAwaited(run)) run.control.abort();
  }

  function start(row: readonly SegmentRequest[], urgency: EncoderRun["urgency"]): true {
    const [first] = row as [SegmentRequest];
    const run: EncoderRun = {
      video: first.video,
      rendition: first.rendition,
      urgency,
      requests: new Set(row),
      control: new AbortController(),
      awaited: new AbortController(),
    };
    for (const n of followingSegments(run)) run.requests.add(requestFor(run.video, run.rendition, n));
    for (const request of run.requests) request.run = run;
    runs.add(run);
    const work = execute(run).finally(() => {
      runs.delete(run);
      activeWork.delete(work);
      dispatch();
    });
    activeWork.add(work);
    return true;
  }

  /**
   * Encoding the next audio segments in the same run costs less than another run. While a viewer waits for video, they
   * are left to look-ahead, because they would take CPU time from its first chunk.
   */
  function followingSegments({ video, rendition, requests: ownRequests }: EncoderRun): number[] {
    if (!encoder.isAudio(rendition) || isVideoAwaited(video)) return [];
    const row = encoder.audioLookahead(
      video,
      [...ownRequests].map(({ n }) => n as number),
    );
    const firstCovered = row.findIndex(
      (n) =>
        store.isKnownStored(video.uid, rendition, n) ||
        requests.get(segmentKey(video.uid, rendition, n))?.run !== undefined,
    );
    return firstCovered === -1 ? row : row.slice(0, firstCovered);
  }

  /** True if a viewer has not yet received the first chunk of a video segment. */
  const isVideoAwaited = ({ uid }: Video): boolean =>
    [...requests.values()].some(
      ({ video, rendition, waiters, chunks }) =>
        video.uid === uid && !encoder.isAudio(rendition) && waiters.size > 0 && chunks.length === 0,
    );

  async function execute(run: EncoderRun) {
    try {
      await encoder.encode(run, (n, chunk, isFirst) => addChunk(run, n, chunk, isFirst));
      // A run may succeed without writing a requested segment.
      for (const request of run.requests)
        settle(request, (waiter) =>
          waiter.reject(streamErrors.encodingFailed({ reason: "the encoder did not write it" })),
        );
    } catch (err) {
      for (const request of run.requests) afterFailure(request, err, run.control.signal.aborted);
    }
  }

  function afterFailure(request: SegmentRequest, err: unknown, wasStopped: boolean) {
    request.run = undefined;
    voidChunks(request, reasonOf(err));
    if (request.waiters.size === 0) return void requests.delete(request.key);
    if (isClosed)
      return settle(request, (waiter) => waiter.reject(streamErrors.encodingFailed({ reason: SHUTTING_DOWN })));
    if (err instanceof VideoDeleted) return settle(request, (waiter) => waiter.resolve(undefined));
    // A viewer requested the segment while the run was being stopped.
    if (wasStopped) return;
    if (err instanceof UserError) return settle(request, (waiter) => waiter.reject(err));
    request.failures++;
    const { video, rendition, n, failures } = request;
    log.warn(
      {
        err,
        video: video.uid,
        rendition,
        segment: n,
        failures,
        ...(err instanceof MediaRunError && { stderr: err.stderr.slice(-1000) }),
      },
      "encode: failed to encode a requested segment",
    );
    if (failures >= TRIES)
      settle(request, (waiter) =>
        waiter.reject(streamErrors.encodingFailed({ reason: reasonOf(err) }, { cause: err })),
      );
  }

  function requestFor(video: Video, rendition: string, n: number | "init"): SegmentRequest {
    const key = segmentKey(video.uid, rendition, n);
    const before = requests.get(key);
    if (before !== undefined) return before;
    const request: SegmentRequest = {
      key,
      video,
      rendition,
      n,
      waiters: new Set(),
      run: undefined,
      chunks: [],
      failures: 0,
    };
    requests.set(key, request);
    return request;
  }

  function addWaiter(
    video: Video,
    rendition: string,
    n: number | "init",
    waiter: Waiter,
    signal: AbortSignal | undefined,
  ): void {
    const before = requests.get(segmentKey(video.uid, rendition, n));
    if ((before === undefined || before.waiters.size === 0) && awaitedRequests() >= maxWaiting)
      throw streamErrors.encoderBusy({ waiting: maxWaiting });
    const request = before ?? requestFor(video, rendition, n);
    if (n === "init" && request.run === undefined) joinRun(request);
    const endWaiting = () => signal?.removeEventListener("abort", cancel);
    const registered: Waiter = {
      ...waiter,
      resolve: (handle) => (endWaiting(), waiter.resolve(handle)),
      reject: (err) => (endWaiting(), waiter.reject(err)),
    };
    const cancel = () => {
      request.waiters.delete(registered);
      withdraw(request);
      waiter.reject(signal!.reason);
    };
    request.waiters.add(registered);
    if (request.chunks.length > 0) waiter.onChunk?.(request.chunks);
    request.run?.awaited.abort();
    signal?.addEventListener("abort", cancel, { once: true });
    dispatch();
  }

  /** Every run writes the initialization segment first, so a run of the rendition that has not done so will. */
  function joinRun(request: SegmentRequest) {
    for (const run of runs)
      if (run.video.uid === request.video.uid && run.rendition === request.rendition && !run.control.signal.aborted) {
        request.run = run;
        run.requests.add(request);
        return;
      }
  }

  const awaitedRequests = () => [...requests.values()].filter(({ waiters }) => waiters.size > 0).length;

  function withdraw(request: SegmentRequest) {
    if (request.waiters.size > 0) return;
    if (request.run === undefined) requests.delete(request.key);
    else if (request.run.urgency === "urgent" && !isAwaited(request.run)) request.run.control.abort();
  }

  /** A viewer that has segment n requests the next ones within seconds. */
  async function requestLookahead(video: Video, rendition: string, n: number) {
    if (video.state === "ready") return;
    for (let next = n + 1; next <= n + LOOKAHEAD_SEGMENTS && next < video.model!.segments.count; next++) {
      if (
        isClosed ||
        store.isKnownStored(video.uid, rendition, next) ||
        requests.has(segmentKey(video.uid, rendition, next))
      )
        continue;
      if ((await store.open(video.uid, rendition, next)) !== undefined || isClosed) continue;
      if (queuedRequests().filter(({ waiters }) => waiters.size === 0).length < MAX_LOOKAHEADS)
        requestFor(video, rendition, next);
    }
    dispatch();
  }

  const startLookahead = (video: Video, rendition: string, n: number | "init") => {
    if (n !== "init")
      void requestLookahead(video, rendition, n).catch((err: unknown) =>
        log.warn({ err, video: video.uid }, "encode: failed to encode the next segments in advance"),
      );
  };

  /** Resolves with the stored segment, or the result of `wait` if it has to be encoded. */
  async function find<Found = ObjectHandle>(
    video: Video,
    rendition: string,
    n: number | "init",
    { signal, lookahead }: { signal: AbortSignal | undefined; lookahead: boolean },
    wait: () => Promise<Found | undefined>,
  ): Promise<Found | ObjectHandle | undefined> {
    if (!(await encoder.has(video, rendition, n))) return undefined;
    // Checked twice, because the segment may be stored between the lookup and the result.
    const handle =
      (await store.open(video.uid, rendition, n)) ??
      (store.isKnownStored(video.uid, rendition, n) ? await store.open(video.uid, rendition, n) : undefined);
    if (handle !== undefined) {
      if (lookahead) startLookahead(video, rendition, n);
      return handle;
    }
    signal?.throwIfAborted();
    if (isClosed) throw streamErrors.encodingFailed({ reason: SHUTTING_DOWN });
    if (n === "init" && encoder.isAudio(rendition)) {
      await store.put(video.uid, rendition, n, audioInitSegment(video.model!));
      return store.open(video.uid, rendition, n);
    }
    const found = await wait();
    if (lookahead) startLookahead(video, rendition, n);
    return found;
  }

  return {
    ...createBackgroundEncoding({ ...deps, store, encoder }),
    async findStored(video, rendition, n) {
      return (await encoder.has(video, rendition, n)) ? store.open(video.uid, rendition, n) : undefined;
    },
    get: (video, rendition, n, { signal, lookahead = true } = {}) =>
      find(video, rendition, n, { signal, lookahead }, () => {
        const whole = Promise.withResolvers<ObjectHandle | undefined>();
        addWaiter(video, rendition, n, { resolve: whole.resolve, reject: whole.reject }, signal);
        return whole.promise;
      }),
    follow: (video, rendition, n, { signal } = {}) =>
      find<GrowingSegment | ObjectHandle>(video, rendition, n, { signal, lookahead: true }, () => {
        const { waiter, begun } = createFollower();
        addWaiter(video, rendition, n, waiter, signal);
        return begun;
      }),
    async close() {
      isClosed = true;
      for (const request of queuedRequests())
        settle(request, (waiter) => waiter.reject(streamErrors.encodingFailed({ reason: SHUTTING_DOWN })));
      for (const { control } of runs) control.abort();
      await Promise.allSettled(activeWork);
    },
  };
}

/** Returns the reason as shown to viewers. */
function reasonOf(err: unknown): string {
  if (err instanceof MediaRunError)
    return {
      failed: "the source cannot be decoded",
      timeout: "it took too long",
      killed: "the encoder was killed",
      memory: "the encoder ran out of memory",
      output: "it became too large",
      input: "the encoder did not read its input",
      aborted: "it was cancelled",
      closed: SHUTTING_DOWN,
      missing: "ffmpeg is missing",
    }[err.reason];
  if (err instanceof VideoDeleted) return "the video was deleted";
  return err instanceof Error && ["SourceMissing", "Mp4Error", "FramesMissing"].includes(err.name)
    ? "the source has no usable video or audio at this position"
    : "internal error, see the server log";
}
