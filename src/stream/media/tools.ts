import { availableParallelism } from "node:os";
import { type Log, messageOf } from "../../kernel/index.ts";
import type { Settings } from "../../kernel/settings.ts";
import { streamErrors } from "../errors.ts";
import { discover, type MediaSettings, type DiscoveredTools } from "./capabilities.ts";
import { FIRST_DESCRIPTOR, runChild } from "./child.ts";
import { confine, type ConfinedCommand, type MediaUser, FileOpenError, reclaim } from "./confinement.ts";
import { hardwareAccess } from "./h264-encoders.ts";
import { restrictInputs } from "./inputs.ts";
import { createRunSlots, type Urgency } from "./lanes.ts";
import { startLiveChild } from "./live-child.ts";
import type { LiveMedia, LiveMediaRun } from "./port.ts";
import { createBackgroundThrottle } from "./pauses.ts";
import type { MediaResult, MediaRun, MediaTools } from "./port.ts";
import { MediaRunError, type MediaRunReason } from "./run-error.ts";

export interface MediaToolsDeps {
  settings: MediaSettings & Pick<Settings["stream"], "encoders" | "urgent_encoders">;
  log: Log;
  /** True if other machines can reach this server. Default false. */
  exposed?: boolean;
  /** Called for every run, for metrics. Must not throw. */
  onRun?: (run: MediaRunReport) => void;
  /** Default: number of processors on this machine. */
  processors?: number;
  /** Maximum number of waiting runs per urgency. Default 500. */
  maxWaiting?: number;
  /** Finds the programs. Default: searches this machine. */
  find?: typeof discover;
}

export interface MediaRunReport {
  program: "ffmpeg" | "ffprobe";
  urgency: Urgency;
  /** Time spent waiting for a slot and for the program to be found. */
  waitedMs: number;
  ranMs: number;
  outcome: "ok" | MediaRunReason | "refused";
}

/** Number of running and of waiting processes, for metrics. */
interface MediaLoad {
  running: number;
  waiting: Record<Urgency, number>;
}

/**
 * Background runs are paused while a viewer waits, for at most four fifths of the time. In the remaining time, niceness
 * must leave them enough CPU time: at niceness 19 a run gets a seventieth of the share of a program at 0, almost
 * nothing on a busy machine. At 5 it gets a third.
 */
export const NICENESS: Record<Urgency, number> = { urgent: 0, soon: 3, background: 5 };
/** A broadcast's CPU time is unlimited; it writes no files. */
const LIVE_BOUNDS = { cpuSeconds: 2 ** 31, memoryMb: 4096, fileBytes: 0 };
const LIVE_DEFAULTS = { idleMs: 60_000, inputBytes: 64 << 20 };
const DEFAULTS = { wallMs: 60_000, cpuSeconds: 600, outputBytes: 64 << 20, memoryMb: 4096, fileBytes: 64 * 2 ** 30 };
/** Limit per allocation: a frame of the maximum size in 4:4:4 with 16 bits is 212 MB. */
const MAX_ALLOC_BYTES = 512 << 20;
/** A missing program is searched for again after this time, because it may have been installed. */
const FORGET_AFTER_MS = 5_000;
const COMMON_ARGS = {
  ffmpeg: ["-hide_banner", "-nostdin", "-nostats", "-loglevel", "error"],
  ffprobe: ["-hide_banner", "-loglevel", "error"],
};

export function createMediaTools({
  settings,
  log,
  exposed = false,
  onRun,
  processors = availableParallelism(),
  maxWaiting = 500,
  find = discover,
}: MediaToolsDeps): MediaTools & { load(): MediaLoad } {
  const closing = new AbortController();
  const lanes = createRunSlots({
    urgent: settings.urgent_encoders || Math.max(2, processors),
    background: settings.encoders || Math.max(1, Math.floor(processors / 2)),
    maxWaiting,
  });
  const pauses = createBackgroundThrottle();
  const activeRuns = new Set<Promise<unknown>>();
  let discovery: Promise<DiscoveredTools> | undefined;
  let failedAt = 0;

  function discoverOnce(): Promise<DiscoveredTools> {
    if (discovery !== undefined && (failedAt === 0 || performance.now() - failedAt < FORGET_AFTER_MS)) return discovery;
    failedAt = 0;
    discovery = find(settings, { log, signal: closing.signal, exposed });
    discovery.catch(() => (failedAt = performance.now()));
    return discovery;
  }

  async function start(program: "ffmpeg" | "ffprobe", run: MediaRun): Promise<MediaResult> {
    const { urgency = "background" } = run;
    const signal = run.signal === undefined ? closing.signal : AbortSignal.any([closing.signal, run.signal]);
    const requestedAt = performance.now();
    let startedAt = requestedAt;
    let outcome: MediaRunReport["outcome"] = "refused";
    let leaveSlot: (() => void) | undefined;
    try {
      const { programs, capabilities } = await discoverOnce();
      leaveSlot = await lanes.acquire(urgency, signal).catch((err: unknown) => {
        throw signal.aborted ? cancelError(program, signal) : err;
      });
      startedAt = performance.now();
      const args = [
        ...COMMON_ARGS[program],
        "-max_alloc",
        String(MAX_ALLOC_BYTES),
        ...restrictInputs(run.args, run.threads),
      ];
      const { cpuSeconds, memoryMb, fileBytes, wallMs, outputBytes } = { ...DEFAULTS, ...omitUndefined(run) };
      const command = confineNow(
        programs,
        capabilities,
        programs[program],
        args,
        {
          reads: run.reads,
          writes: run.writes,
          nice: NICENESS[urgency],
          cpuSeconds,
          memoryMb,
          fileBytes,
          ...hardwareAccess(args),
        },
        FIRST_DESCRIPTOR,
      );
      const result = await runInto(run.writes, capabilities.user, program, command, {
        wallMs,
        outputBytes,
        signal,
        nice: NICENESS[urgency],
        onStart(group) {
          run.onStart?.();
          return pauses.register(group, urgency, run.awaited);
        },
        ...(run.onOutput !== undefined && { onOutput: run.onOutput }),
      });
      outcome = "ok";
      return result;
    } catch (err) {
      if (err instanceof MediaRunError) outcome = err.reason;
      if (!(err instanceof MediaRunError) || err.reason !== "missing") throw err;
      // The program existed before, so it may be in the middle of a replacement; the next run searches for it again.
      discovery = undefined;
      throw streamErrors.mediaToolsMissing({ reason: err.message }, { cause: err });
    } finally {
      leaveSlot?.();
      onRun?.({ program, urgency, waitedMs: startedAt - requestedAt, ranMs: performance.now() - startedAt, outcome });
    }
  }

  function startLive(run: LiveMediaRun): LiveMedia {
    const { urgency = "urgent", reads = [], network, outputs } = run;
    const { idleMs, inputBytes } = { ...LIVE_DEFAULTS, ...omitUndefined(run) };
    const signal = run.signal === undefined ? closing.signal : AbortSignal.any([closing.signal, run.signal]);
    const requestedAt = performance.now();
    let startedAt = requestedAt;
    const command = async () => {
      const { programs, capabilities } = await discoverOnce();
      startedAt = performance.now();
      const args = [
        ...COMMON_ARGS.ffmpeg,
        "-max_alloc",
        String(MAX_ALLOC_BYTES),
        ...restrictInputs(
          typeof run.args === "function" ? run.args(capabilities.h264.selected().encoder) : run.args,
          run.threads,
          reads.length > 0 ? "pipe,file" : "pipe",
        ),
      ];
      return confineNow(
        programs,
        capabilities,
        programs.ffmpeg,
        args,
        {
          ...LIVE_BOUNDS,
          ...(run.memoryMb !== undefined && { memoryMb: run.memoryMb }),
          reads,
          network,
          nice: NICENESS[urgency],
          ...hardwareAccess(args),
        },
        FIRST_DESCRIPTOR + outputs.length,
      );
    };
    const media = startLiveChild("ffmpeg", { command, outputs, idleMs, inputBytes, nice: NICENESS[urgency], signal });
    const report = (outcome: MediaRunReport["outcome"]) =>
      onRun?.({
        program: "ffmpeg",
        urgency,
        waitedMs: startedAt - requestedAt,
        ranMs: performance.now() - startedAt,
        outcome,
      });
    const settledRun = media.done
      .then(
        () => report("ok"),
        (err: unknown) => report(err instanceof MediaRunError ? err.reason : "refused"),
      )
      .finally(() => activeRuns.delete(settledRun));
    activeRuns.add(settledRun);
    return media;
  }

  function runTracked(program: "ffmpeg" | "ffprobe", run: MediaRun): Promise<MediaResult> {
    const result = start(program, run);
    const settledRun = result.catch(() => {}).finally(() => activeRuns.delete(settledRun));
    activeRuns.add(settledRun);
    return result;
  }

  return {
    ready: async () => (await discoverOnce()).capabilities,
    ffmpeg: (run) => runTracked("ffmpeg", run),
    ffprobe: (run) => runTracked("ffprobe", run),
    live: startLive,
    load: () => ({
      running: lanes.running(),
      waiting: {
        urgent: lanes.waiting("urgent"),
        soon: lanes.waiting("soon"),
        background: lanes.waiting("background"),
      },
    }),
    async close() {
      closing.abort(new MediaRunError("closed", "the server is shutting down"));
      await Promise.all(activeRuns);
    },
  };
}

/** A program that has been removed since it was found cannot be confined. */
function confineNow(...given: Parameters<typeof confine>): ConfinedCommand {
  try {
    return confine(...given);
  } catch (err) {
    // A missing source is reported in the same way as an error message of the program itself.
    if (err instanceof FileOpenError) throw new MediaRunError("failed", err.message, err.message, { cause: err });
    throw new MediaRunError("missing", messageOf(err), "", { cause: err });
  }
}

/** Checks the run's output folder before anything in it is read, whether the run succeeds or fails. */
async function runInto(
  folder: string | undefined,
  user: MediaUser | undefined,
  ...run: Parameters<typeof runChild>
): Promise<MediaResult> {
  const [result] = await Promise.allSettled([runChild(...run)]);
  try {
    if (folder !== undefined) reclaim(folder, user);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === "ENOENT" && result.status === "rejected") throw result.reason;
    throw new MediaRunError("failed", `${run[0]}: ${messageOf(err)}`, "", { cause: err });
  }
  if (result.status === "rejected") throw result.reason;
  return result.value;
}

const cancelError = (program: string, { reason }: AbortSignal) =>
  reason instanceof MediaRunError
    ? reason
    : new MediaRunError("aborted", `${program} was cancelled`, "", { cause: reason });

const omitUndefined = <T extends object>(given: T): T =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as T;
