import { FetchError } from "../../kernel/guarded-fetch.ts";
import { messageOf, UserError } from "../../kernel/index.ts";
import { isStoreError, type Job, type JobContext, type JobWorker } from "../../store/index.ts";
import { streamErrors } from "../errors.ts";
import { VIDEO_CHANGED } from "../videos/index.ts";
import type { CreationDeps } from "./creation.ts";
import { videoDraft } from "./drafts.ts";
import {
  describeStatus,
  fetchOriginInfo,
  originFileOf,
  isSuccessStatus,
  isPermanentStatus,
  rangeStart,
} from "./origin.ts";
import type { Uploads } from "./port.ts";
import type { UploadRow } from "./uploads-table.ts";

const COPY_JOB = "stream.copy";

interface Copies extends Pick<Uploads, "copy" | "start" | "close"> {
  /** Enqueues a copy again if its job may never have been created. */
  enqueue(uid: string): Promise<void>;
}

const GIB = 1024 ** 3;
const MAX_CONCURRENT_COPIES = 4;
const LEASE_MS = 30_000;
/** Minimum rate; copies from slower origins are aborted. */
const MIN_BYTES_PER_INTERVAL = 64 * 1024;
const MAX_COPY_MS = 24 * 3_600_000;
/** Pause between two requests of one attempt, if the first one has made progress. */
const RESUME_DELAY_MS = 500;

const DEFAULT_RETRIES = { attempts: 10, backoff: (attempt: number) => Math.min(300_000, 2000 * 2 ** (attempt - 1)) };

/** A failure that a retry cannot fix. */
class PermanentCopyError extends Error {}

/** The origin ended its response before the declared length. */
class TruncatedResponse extends Error {}

/**
 * Maximum number of consecutive responses that end at the same byte: the origin lacks the rest. Broken connections end
 * at varying bytes.
 */
const MAX_TRUNCATIONS = 3;

/** Videos fetched from a URL: checked immediately, copied by a job that resumes where the previous attempt ended. */
export function createCopies(deps: CreationDeps): Copies {
  const {
    clock,
    log,
    jobs,
    events,
    settings,
    videos,
    fetch,
    table,
    sources,
    lock,
    copyRetries: { attempts, backoff } = DEFAULT_RETRIES,
  } = deps;
  const limit = Math.floor(settings.upload_gb * GIB);
  let worker: JobWorker | undefined;

  const tooLarge = () => streamErrors.tooLarge({ limit, rule: "the maximum for uploads (stream.upload_gb)" });
  const enqueue = async (uid: string) => void (await jobs.enqueue(COPY_JOB, { uid }, { key: uid, attempts }));

  /** Sends one request for the missing bytes. True if none are missing. */
  async function fetchMore(row: UploadRow, declaredBytes: number | null, signal: AbortSignal): Promise<boolean> {
    const partial = sources.partial(row);
    const storedBytes = await sources.offset(row);
    if (row.length !== null && storedBytes === row.length) return true;
    const rangeHeaders =
      storedBytes > 0
        ? { range: `bytes=${storedBytes}-`, ...(row.version !== null && { "if-range": row.version }) }
        : undefined;
    const response = await fetch(row.url!, {
      ...(rangeHeaders && { headers: rangeHeaders }),
      signal,
      totalTimeoutMs: MAX_COPY_MS,
      minBytesPerWindow: MIN_BYTES_PER_INTERVAL,
      maxBytes: limit,
    });
    try {
      const { size, version } = originFileOf(response);
      if (response.status === 416 && size === storedBytes) return finishCopy(row, storedBytes);
      const start = rangeStart(response);
      if (!isSuccessStatus(response.status) || (start !== 0 && start !== storedBytes)) {
        if (response.status === 416 || isSuccessStatus(response.status)) await sources.discard(row);
        throw isPermanentStatus(response.status)
          ? new PermanentCopyError(describeStatus(row.url!, response.status))
          : new Error(describeStatus(row.url!, response.status));
      }
      if ((size ?? 0) > limit) throw new PermanentCopyError(tooLarge().message);
      // The file is different from the one that was copied so far.
      if (start === 0 && storedBytes > 0) await sources.discard(row);
      if (start !== 0 && size !== undefined && row.length !== null && size !== row.length) {
        await sources.discard(row);
        throw new Error("the file changed at its origin");
      }
      Object.assign(row, { length: size ?? null, version: version ?? null });
      await table.change(row.uid, { length: row.length, version: row.version });
      const now = await partial
        .append(start, sources.trackActivity(row.uid, response.body))
        .catch(async (err: unknown) => {
          throw row.length !== null && isBrokenOff(err)
            ? new TruncatedResponse(`received ${await partial.size()} of ${row.length} bytes`, { cause: err })
            : err;
        });
      if (now > limit) throw new PermanentCopyError(tooLarge().message);
      // A response without a length is checked against the length from HEAD, because a truncated one would look
      // complete.
      const expectedLength = row.length ?? declaredBytes;
      if (expectedLength !== null && now > 0 && (row.length === null ? now < expectedLength : now !== expectedLength)) {
        if (row.length === null) await sources.discard(row);
        throw new TruncatedResponse(`received ${now} of ${expectedLength} bytes`);
      }
      return finishCopy(row, now);
    } finally {
      response.close();
    }
  }

  function finishCopy(row: UploadRow, size: number): true {
    if (size === 0) throw new PermanentCopyError("The file at its origin is empty.");
    row.length = size;
    return true;
  }

  /** Continues as long as there is progress. */
  async function copy(row: UploadRow, signal: AbortSignal): Promise<void> {
    const declaredBytes = row.length;
    let repeatedFailure = { text: "", times: 0 };
    let stalledAttempts = 0;
    for (;;) {
      const before = await sources.offset(row);
      try {
        if (await fetchMore(row, declaredBytes, signal)) break;
      } catch (err) {
        if (signal.aborted || isPermanent(err) || isStoreError(err)) throw err;
        if (err instanceof TruncatedResponse) {
          repeatedFailure = {
            text: err.message,
            times: err.message === repeatedFailure.text ? repeatedFailure.times + 1 : 1,
          };
          if (repeatedFailure.times >= MAX_TRUNCATIONS)
            throw new PermanentCopyError(`the origin ended its response early: ${err.message}`, { cause: err });
        }
        // Without progress this attempt fails, unless the response ended where the previous one did: a few more
        // requests then show whether it always does.
        const isStuck = (await sources.offset(row)) <= before;
        if (
          isStuck &&
          (!(err instanceof TruncatedResponse) || (repeatedFailure.times < 2 && ++stalledAttempts > MAX_TRUNCATIONS))
        )
          throw err;
        log.info({ video: row.uid, err }, "stream: copy interrupted, resuming");
        await clock.sleep(RESUME_DELAY_MS, signal);
      }
    }
    await sources.finish(row, row.length!);
  }

  async function run({ payload, attempt }: Job, { signal }: JobContext): Promise<void> {
    const { uid } = payload as { uid: string };
    const row = await table.find(uid);
    if (row === undefined || row.kind !== "copy" || row.finished_at !== null) return;
    const cancellation = new AbortController();
    const checkCancelled = async () => {
      if ((await videos.find(uid))?.state !== "downloading") cancellation.abort(new Error("the copy was canceled"));
    };
    const unsubscribe = events.subscribe(VIDEO_CHANGED, (id) => {
      if (id === uid || id === "") checkCancelled().catch(() => {});
    });
    let end: (() => void) | undefined;
    try {
      await checkCancelled();
      end = await lock.acquire(uid, { signal });
      if (end === undefined) throw streamErrors.uploadBusy();
      cancellation.signal.throwIfAborted();
      await copy(row, AbortSignal.any([signal, cancellation.signal]));
    } catch (err) {
      if (cancellation.signal.aborted) return await forget(row);
      // Nothing was attempted before the lock was acquired, so the copy must not be marked as failed: another process
      // may be copying it.
      if (signal.aborted || end === undefined) throw err;
      if (!isPermanent(err) && attempt < attempts) throw err;
      await markFailed(row, err);
    } finally {
      unsubscribe();
      end?.();
    }
  }

  /** A remaining row would be resumed repeatedly. */
  async function forget(row: UploadRow): Promise<void> {
    await sources.discard(row);
    await table.remove(row.uid);
  }

  async function markFailed(row: UploadRow, err: unknown): Promise<void> {
    const { uid } = row;
    log.info({ video: uid, err }, "stream: copy failed");
    const isOwnError = isStoreError(err);
    await sources.discard(row);
    await videos.failed(
      uid,
      isOwnError ? "ERR_UNKNOWN" : "ERR_FETCH_ORIGIN_ERROR",
      isOwnError ? undefined : `The video could not be fetched: ${messageOf(err)}`,
    );
    await table.remove(uid);
  }

  return {
    enqueue,
    async copy(account, { url, ...requested }) {
      const { size, version } = await fetchOriginInfo(fetch, url);
      if ((size ?? 0) > limit) throw tooLarge();
      const draft = await videoDraft(deps, account, {
        ...requested,
        meta: { ...requested.meta, "downloaded-from": url },
      });
      const video = await videos.create(account, { ...draft, ...(size !== undefined && { size }) }, "downloading");
      await table.insert({
        uid: video.uid,
        account_id: account,
        kind: "copy",
        url,
        length: size ?? null,
        version: version ?? null,
        touched_at: clock.now(),
      });
      await enqueue(video.uid);
      return video;
    },
    start() {
      worker ??= jobs.work(COPY_JOB, { concurrency: MAX_CONCURRENT_COPIES, leaseMs: LEASE_MS, backoff }, run);
    },
    async close() {
      await worker?.stop({ graceMs: 0 });
    },
  };
}

const isBrokenOff = (err: unknown): boolean => err instanceof FetchError && err.kind === "unreachable";

const isPermanent = (err: unknown): boolean =>
  err instanceof PermanentCopyError ||
  (err instanceof FetchError && err.permanent) ||
  (err instanceof UserError && err.domain === "stream" && err.kind === "notAVideo");
