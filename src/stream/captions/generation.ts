import { messageOf } from "../../kernel/index.ts";
import type { JobWorker } from "../../store/index.ts";
import { createScratch } from "../scratch.ts";
import { streamErrors } from "../errors.ts";
import { notReadyError, type Video } from "../videos/index.ts";
import type { CaptionRow, CaptionsTable } from "./captions-table.ts";
import { generatedLabel } from "./language.ts";
import type { CaptionsDeps } from "./deps.ts";
import { transcribe, TranscriptionError } from "./speech.ts";

interface GenerationDeps extends CaptionsDeps {
  table: CaptionsTable;
  /** Stores a file and returns its key. */
  storeVtt(uid: string, vtt: string): Promise<string>;
  deleteVtt(key: string | null | undefined): Promise<void>;
  notifyChanged(uid: string): void;
}

interface Generation {
  begin(video: Video, language: string, max: number): Promise<CaptionRow>;
  recover(): Promise<void>;
  start(): void;
  close(): Promise<void>;
}

const JOB_KIND = "stream.caption";
const MAX_ATTEMPTS = 5;
const LEASE_MS = 30_000;
/** A row without a heartbeat for this long is checked. */
const RECOVER_AFTER_MS = 60_000;
const RECOVERY_BATCH = 200;

interface Payload {
  uid: string;
  language: string;
  attempt: string;
}

/**
 * Captions generated from speech: one row with the state, and one job. Only the job specified in the row may finish it.
 */
export function createGeneration(deps: GenerationDeps): Generation {
  const { jobs, table, clock, ids, log, settings, videos, folder, storeVtt, deleteVtt, notifyChanged } = deps;
  const scratch = createScratch(folder);
  let worker: JobWorker | undefined;

  function check(video: Video, language: string) {
    if (settings.caption_command.length === 0) throw streamErrors.captionsNotConfigured();
    const languages = settings.caption_languages;
    if (!languages.includes(language) && !languages.includes(language.split("-")[0]!))
      throw streamErrors.captionLanguageUnsupported({ language, languages: languages.join(", ") });
    if (!video.readyToStream || video.model === null) throw notReadyError(video);
    if (video.model.audio === undefined) throw streamErrors.noAudio();
    const minutes = video.duration / 60;
    if (minutes > settings.caption_minutes)
      throw streamErrors.videoTooLong({ minutes: Math.ceil(minutes), limit: settings.caption_minutes });
  }

  async function enqueue(row: CaptionRow): Promise<void> {
    const payload = payloadOf(row);
    const { uid, language, attempt } = payload;
    await table.setJob(
      uid,
      language,
      attempt,
      await jobs.enqueue(JOB_KIND, payload, { key: attempt, attempts: MAX_ATTEMPTS }),
    );
  }

  async function end({ uid, language, attempt }: Payload, vtt: string | undefined): Promise<void> {
    const key = vtt === undefined ? null : await storeVtt(uid, vtt);
    if (
      await table.finish(uid, language, attempt, {
        status: key === null ? "error" : "ready",
        object_key: key,
        modified_at: clock.now(),
      })
    )
      notifyChanged(uid);
    else await deleteVtt(key);
  }

  async function run(payload: Payload, isLast: boolean, signal: AbortSignal): Promise<void> {
    const { uid, language, attempt } = payload;
    const row = await table.find(uid, language);
    if (row?.attempt !== attempt || row.status !== "inprogress") return;
    const video = await videos.find(uid);
    if (video === undefined) return table.deleteAll(uid);
    try {
      await end(payload, await transcribe({ ...deps, scratch }, video, language, signal));
    } catch (err) {
      if (!(err instanceof TranscriptionError) && (signal.aborted || !isLast)) throw err;
      log.warn({ err, video: uid, language }, `stream: failed to generate captions: ${messageOf(err)}`);
      await end(payload, undefined);
    }
  }

  return {
    async begin(video, language, max) {
      check(video, language);
      const now = clock.now();
      const row: CaptionRow = {
        video_uid: video.uid,
        language,
        account_id: video.account,
        label: generatedLabel(language),
        generated: 1,
        status: "inprogress",
        object_key: null,
        attempt: ids.hex(),
        job: null,
        created_at: now,
        modified_at: now,
      };
      const putResult = await table.put(row, max, ({ status }) => status === "error");
      if (putResult === "full") throw streamErrors.tooManyCaptions({ limit: max });
      if ("refused" in putResult) throw streamErrors.captionsExist({ language });
      notifyChanged(video.uid);
      // If this fails, `recover` creates the job: the row exists and blocks another request for the same captions.
      await enqueue(row).catch((err: unknown) =>
        log.warn({ err, video: video.uid, language }, "stream: failed to create the caption job, will retry"),
      );
      return row;
    },
    async recover() {
      for (const row of await table.generating(clock.now() - RECOVER_AFTER_MS, RECOVERY_BATCH)) {
        const job = row.job === null ? undefined : await jobs.get(row.job);
        // The worker died in every attempt.
        if (job?.status === "failed") await end(payloadOf(row), undefined);
        else if (job === undefined || job.status === "done") await enqueue(row);
      }
    },
    start() {
      worker ??= jobs.work(JOB_KIND, { concurrency: 1, leaseMs: LEASE_MS }, ({ payload, attempt }, { signal }) =>
        run(payload as Payload, attempt >= MAX_ATTEMPTS, signal),
      );
    },
    close: async () => worker?.stop(),
  };
}

/** Returns the payload for a row in generation, which always has an attempt. */
const payloadOf = ({ video_uid: uid, language, attempt }: CaptionRow): Payload => ({
  uid,
  language,
  attempt: attempt!,
});
