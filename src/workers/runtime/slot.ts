import { UserError, messageOf, type Clock, type Log } from "../../kernel/index.ts";
import { workerErrors } from "../errors.ts";
import type { WorkerScript } from "../scripts/script.ts";
import { withSyntaxErrorPosition } from "./service-worker-syntax.ts";
import { createStackMapper } from "./stacks.ts";
import type { WorkerProcess } from "./process-port.ts";
import { startWorkerProcess, type WorkerProcessDeps } from "./worker-process.ts";

/** The slot of one script name: its version, and the process that runs it while there is work. */
export interface ScriptSlot {
  readonly script: WorkerScript;
  /** Resolves with the running process, started if there is none. Rejects with UserError if the script cannot run. */
  process(): Promise<WorkerProcess>;
  /** The process, if it is running. */
  readonly current: WorkerProcess | undefined;
  /** Starts the new version alongside the old one, then switches; the old one completes its work. */
  swap(script: WorkerScript): Promise<void>;
  /** Ends the process; the next call starts it again. */
  stopProcess(): Promise<void>;
  /** Ends the process, including one that is starting and old ones whose work has not completed. */
  close(graceMs?: number): Promise<void>;
}

/** A handler may run for its wall time, and its waitUntil() work for 30 s more. */
const DRAIN_MS = 90_000;
/** A process that ran this long did not crash at startup. */
const STABLE_UPTIME_MS = 10_000;
const FIRST_BACKOFF_MS = 200;
const MAX_BACKOFF_MS = 30_000;

export function createSlot(
  initial: WorkerScript,
  {
    machinery,
    clock,
    log,
    beforeStart,
  }: { machinery: WorkerProcessDeps; clock: Clock; log: Log; beforeStart(): Promise<() => void> },
): ScriptSlot {
  let script = initial;
  let current: WorkerProcess | undefined;
  let starting: Promise<WorkerProcess> | undefined;
  const retiringProcesses = new Set<WorkerProcess>();
  let crashes = 0;
  let notBefore = 0;
  let isClosed = false;
  let backoffAborter = new AbortController();

  /** Returns the process, unless it is stopping, for example because another process needs its Durable Objects. */
  const usableProcess = () => (current?.alive && !current.retired ? current : undefined);

  /**
   * The reservation made by beforeStart() is released only when the process has been adopted and is therefore counted.
   */
  async function start(version: WorkerScript, use: (process: WorkerProcess) => void): Promise<WorkerProcess> {
    const endStart = await beforeStart();
    try {
      const process = await startWorkerProcess(version, machinery);
      use(process);
      return process;
    } catch (err) {
      if (err instanceof UserError) throw err;
      const reason = withSyntaxErrorPosition(reasonOf(messageOf(err)), version);
      throw workerErrors.scriptRefused(
        { script: version.name, reason: createStackMapper(version)(reason) },
        { cause: err },
      );
    } finally {
      endStart();
    }
  }

  function adopt(process: WorkerProcess) {
    const since = clock.now();
    current = process;
    void process.exited.then(() => {
      if (current === process) current = undefined;
      if (process.retired) return;
      if (clock.now() - since > STABLE_UPTIME_MS) crashes = 0;
      notBefore = clock.now() + Math.min(FIRST_BACKOFF_MS * 2 ** crashes++, MAX_BACKOFF_MS);
      log.warn({ script: script.name, crashes }, "workers: process exited unexpectedly");
    });
  }

  async function startCurrent(): Promise<WorkerProcess> {
    // After a first crash the process restarts immediately; a crash loop is slowed down.
    if (crashes > 1 && notBefore > clock.now())
      await clock.sleep(notBefore - clock.now(), backoffAborter.signal).catch(() => {});
    if (isClosed) throw workerErrors.closing();
    return start(script, adopt);
  }

  /** Ends the backoff: code that is about to be replaced or ended need not wait for it. */
  function endBackoff() {
    notBefore = 0;
    backoffAborter.abort();
    backoffAborter = new AbortController();
  }

  async function retire(process: WorkerProcess | undefined) {
    if (process === undefined) return;
    retiringProcesses.add(process);
    await process.stop(Math.max(DRAIN_MS, process.maxInvocationMs));
    retiringProcesses.delete(process);
  }

  /** Ensures that `starting` is accurate: one start at a time, including swaps. */
  function runExclusively(work: () => Promise<WorkerProcess>): Promise<WorkerProcess> {
    const ownStart = (starting ?? Promise.resolve()).then(work, work).finally(() => {
      if (starting === ownStart) starting = undefined;
    });
    starting = ownStart;
    return ownStart;
  }

  return {
    get script() {
      return script;
    },
    get current() {
      return usableProcess();
    },
    async process() {
      return usableProcess() ?? runExclusively(async () => usableProcess() ?? startCurrent());
    },
    async swap(next) {
      endBackoff();
      await runExclusively(() =>
        start(next, (process) => {
          const old = current;
          script = next;
          crashes = 0;
          adopt(process);
          void retire(old);
        }),
      );
    },
    async stopProcess() {
      const old = current;
      current = undefined;
      await retire(old);
    },
    async close(graceMs = DRAIN_MS) {
      isClosed = true;
      endBackoff();
      await starting?.catch(() => {});
      void retire(current);
      current = undefined;
      await Promise.all([...retiringProcesses].map((process) => process.stop(graceMs)));
    },
  };
}

/** Strips workerd's prefixes: `service user: Uncaught SyntaxError: …`. */
function reasonOf(text: string): string {
  const lines = text
    .split("\n")
    .filter((line) => line.trim() !== "" && !/^\*\*\*|^stack: |named entrypoint "ReelpostMail"/.test(line));
  return (
    lines
      .map((line) => line.replace(/^service user: /, "").replace(/^\S+\.c\+\+:\d+: (error|info|warning): /, ""))
      .join("\n") || text
  );
}
