import { tmpdir } from "node:os";
import { type Clock, type Log, messageOf } from "../../../kernel/index.ts";
import type { MediaTools } from "../../media/index.ts";
import type { LiveOutput, LiveOutputs, LiveOutputStatus } from "../inputs/port.ts";
import type { LiveSession, LiveSessions } from "../session.ts";
import { resolveOutputHost, type AddressRules } from "./addresses.ts";
import { OutputError } from "./output-error.ts";
import { checkTracks } from "./push.ts";
import { pushRtmp } from "./rtmp-push.ts";
import { pushSrt } from "./srt-push.ts";
import { readOutputTarget } from "./target.ts";

export interface LiveOutputsRunnerDeps {
  outputs: LiveOutputs;
  sessions: Pick<LiveSessions, "all" | "onSession">;
  tools: Pick<MediaTools, "live">;
  clock: Clock;
  log: Log;
  /** Permitted target addresses: `allowPrivate` is `stream.allow_private`. */
  addresses: AddressRules;
  /** Folder for temporary files. Default: the system's. */
  folder?: string;
  /** Certificates to trust instead of the system's, PEM. */
  ca?: string;
  /** Milliseconds before the first retry; doubled each time, up to half a minute. Default 1000. */
  retryMs?: number;
  /** Maximum number of concurrent outputs. Default 500. */
  maxOutputs?: number;
}

interface LiveOutputsRunner {
  /** Number of outputs that are being sent or retried. */
  readonly running: number;
  /** Ends all of them. */
  close(): Promise<void>;
}

const MAX_WAIT_MS = 30_000;
/** After this long without a failure, the retry delay is reset. */
const STABLE_AFTER_MS = 60_000;

interface Job {
  output: LiveOutput;
  control: AbortController;
  done: Promise<void>;
}

interface LiveBroadcast {
  session: LiveSession;
  jobs: Map<string, Job>;
  /** `reading`: the outputs are being read. `changed`: they have changed since the read began. */
  reading: boolean;
  changed: boolean;
}

/** Restreams every broadcast published in this process to the enabled outputs of its input, and retries on failure. */
export function createLiveOutputsRunner(deps: LiveOutputsRunnerDeps): LiveOutputsRunner {
  const { outputs, sessions, clock, log, maxOutputs = 500 } = deps;
  const broadcasts = new Set<LiveBroadcast>();
  const pendingWork = new Set<Promise<void>>();
  const closing = new AbortController();
  let runningPushes = 0;

  function follow(session: LiveSession) {
    if (closing.signal.aborted || session.signal.aborted) return;
    const live: LiveBroadcast = { session, jobs: new Map(), reading: false, changed: false };
    broadcasts.add(live);
    // The jobs end with the session automatically.
    session.signal.addEventListener("abort", () => void broadcasts.delete(live), { once: true });
    startReading(live);
  }

  function startReading(live: LiveBroadcast) {
    live.changed = true;
    if (live.reading) return;
    live.reading = true;
    const work = readAll(live).finally(() => pendingWork.delete(work));
    pendingWork.add(work);
  }

  /** Reads until there are no further changes; failures are retried with increasing delays. */
  async function readAll(live: LiveBroadcast) {
    let failures = 0;
    while (live.changed && broadcasts.has(live)) {
      live.changed = false;
      try {
        await reconcile(live);
        failures = 0;
      } catch (err) {
        log.error(
          { err, input: live.session.input.uid },
          "live: failed to read the outputs of a live input, will retry",
        );
        live.changed = true;
        await waitBeforeRetry(live.session, closing.signal, ++failures);
      }
    }
    live.reading = false;
  }

  async function reconcile(live: LiveBroadcast) {
    const wantedOutputs = new Map(
      (await outputs.list(live.session.input.uid))
        .filter(({ enabled }) => enabled)
        .map((output) => [output.uid, output]),
    );
    for (const { output, control } of live.jobs.values()) {
      const now = wantedOutputs.get(output.uid);
      if (now === undefined || now.url !== output.url || now.streamKey !== output.streamKey) control.abort();
    }
    for (const output of wantedOutputs.values())
      if (broadcasts.has(live) && !live.jobs.has(output.uid)) start(live, output);
  }

  function start(live: LiveBroadcast, output: LiveOutput) {
    const job: Job = { output, control: new AbortController(), done: Promise.resolve() };
    live.jobs.set(output.uid, job);
    runningPushes++;
    job.done = run(live.session, job)
      .catch((err: unknown) => log.error({ err, output: output.uid }, "live: output failed"))
      .finally(() => {
        runningPushes--;
        pendingWork.delete(job.done);
        live.jobs.delete(output.uid);
        // The output's target may have changed in the meantime.
        if (job.control.signal.aborted && broadcasts.has(live)) startReading(live);
      });
    pendingWork.add(job.done);
  }

  async function run(session: LiveSession, { output, control: { signal } }: Job) {
    const noteStatus = createNotes(output.uid);
    let failures = 0;
    await noteStatus({ state: "connecting" });
    for (;;) {
      let connectedAt: number | undefined;
      try {
        if (runningPushes > maxOutputs) throw new OutputError(`${maxOutputs} broadcasts are already being restreamed`);
        await push(session, output, signal, () => {
          connectedAt = clock.now();
          void noteStatus({ state: "connected" });
        });
        return await noteStatus({ state: "ended" });
      } catch (err) {
        failures = connectedAt !== undefined && clock.now() - connectedAt > STABLE_AFTER_MS ? 1 : failures + 1;
        if (!(err instanceof OutputError)) log.error({ err, output: output.uid }, "live: output failed");
        else
          log.info(
            { output: output.uid, input: output.input, reason: err.message, failures },
            "live: failed to restream a broadcast",
          );
        await noteStatus({
          state: "error",
          reason: err instanceof OutputError ? err.message : "internal error; see the server log",
        });
      }
      if (!(await waitBeforeRetry(session, signal, failures))) return noteStatus({ state: "ended" });
    }
  }

  async function push(
    session: LiveSession,
    output: LiveOutput,
    signal: AbortSignal,
    onConnected: () => void,
  ): Promise<void> {
    checkTracks(session.tracks());
    const target = readOutputTarget(output);
    const options = { session, signal, onConnected, addresses: await resolveOutputHost(target.host, deps.addresses) };
    if (target.kind === "srt")
      return pushSrt({ ...options, target, tools: deps.tools, folder: deps.folder ?? tmpdir() });
    return pushRtmp({ ...options, target, ...(deps.ca !== undefined && { ca: deps.ca }) });
  }

  /** False if sending has ended. */
  async function waitBeforeRetry(session: LiveSession, signal: AbortSignal, failures: number): Promise<boolean> {
    const ms = Math.min(MAX_WAIT_MS, (deps.retryMs ?? 1000) * 2 ** Math.min(failures - 1, 20));
    const combinedSignal = AbortSignal.any([signal, session.signal]);
    await clock.sleep(ms, combinedSignal).catch(() => {});
    return !combinedSignal.aborted;
  }

  /** Stores statuses in order, without repeating an unchanged one. */
  function createNotes(uid: string) {
    let last = "";
    let pendingNote = Promise.resolve();
    return (status: Omit<LiveOutputStatus, "at">): Promise<void> => {
      const statusText = JSON.stringify(status);
      if (statusText === last) return pendingNote;
      last = statusText;
      return (pendingNote = pendingNote
        .then(() => outputs.recordStatus(uid, status))
        .catch((err: unknown) =>
          log.error({ err: messageOf(err), output: uid }, "live: failed to store the status of an output"),
        ));
    };
  }

  const stops = [
    sessions.onSession(follow),
    outputs.onChange((input) => {
      for (const live of broadcasts) if (input === "" || live.session.input.uid === input) startReading(live);
    }),
  ];
  sessions.all().forEach(follow);

  return {
    get running() {
      return runningPushes;
    },
    async close() {
      closing.abort();
      for (const stop of stops) stop();
      for (const { jobs } of broadcasts) for (const { control } of jobs.values()) control.abort();
      broadcasts.clear();
      while (pendingWork.size > 0) await Promise.all(pendingWork);
    },
  };
}
