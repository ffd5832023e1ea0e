import { UserError, messageOf, type Clock, type Log } from "../../kernel/index.ts";
import { workerErrors } from "../errors.ts";
import type { WorkerScript } from "../scripts/script.ts";
import { withPlaceOfSyntaxError } from "./service-worker-syntax.ts";
import { createStackMapper } from "./stacks.ts";
import { startWorkerProcess, type Machinery, type WorkerProcess } from "./worker-process.ts";

/** The place of one script name: its version, and the process that runs it while there is work. */
export interface Slot {
  readonly script: WorkerScript;
  /** The running process, started if there is none. Rejects with UserError when the script cannot run. */
  process(): Promise<WorkerProcess>;
  /** The process if it is up. */
  readonly current: WorkerProcess | undefined;
  /** Starts the new version beside the old one, then switches; the old one finishes what it holds. */
  swap(script: WorkerScript): Promise<void>;
  /** Ends the process; the next call starts it again. */
  rest(): Promise<void>;
  /** Ends the process, one that is being started and old ones that still finish what they hold included. */
  close(graceMs?: number): Promise<void>;
}

/** A handler may run for as long as its wall time, and waitUntil() work for 30 s more. */
const DRAIN_MS = 90_000;
/** A process that lives this long was not a crash at start. */
const STEADY_MS = 10_000;
const FIRST_BACKOFF_MS = 200;
const LONGEST_BACKOFF_MS = 30_000;

export function createSlot(
  initial: WorkerScript,
  {
    machinery,
    clock,
    log,
    beforeStart,
  }: { machinery: Machinery; clock: Clock; log: Log; beforeStart(): Promise<() => void> },
): Slot {
  let script = initial;
  let current: WorkerProcess | undefined;
  let starting: Promise<WorkerProcess> | undefined;
  const retiring = new Set<WorkerProcess>();
  let crashes = 0;
  let notBefore = 0;
  let closed = false;
  let patience = new AbortController();

  /** The place taken by beforeStart() is given back only when the process is adopted, and so counted. */
  async function start(version: WorkerScript, use: (process: WorkerProcess) => void): Promise<WorkerProcess> {
    const done = await beforeStart();
    try {
      const process = await startWorkerProcess(version, machinery);
      use(process);
      return process;
    } catch (err) {
      if (err instanceof UserError) throw err;
      const reason = withPlaceOfSyntaxError(reasonOf(messageOf(err)), version);
      throw workerErrors.scriptRefused(
        { script: version.name, reason: createStackMapper(version)(reason) },
        { cause: err },
      );
    } finally {
      done();
    }
  }

  function adopt(process: WorkerProcess) {
    const since = clock.now();
    current = process;
    void process.exited.then(() => {
      if (current === process) current = undefined;
      if (process.retired) return;
      if (clock.now() - since > STEADY_MS) crashes = 0;
      notBefore = clock.now() + Math.min(FIRST_BACKOFF_MS * 2 ** crashes++, LONGEST_BACKOFF_MS);
      log.warn({ script: script.name, crashes }, "workers: process exited unexpectedly");
    });
  }

  async function startCurrent(): Promise<WorkerProcess> {
    // The first crash costs nothing but the restart; a loop of them is slowed down.
    if (crashes > 1 && notBefore > clock.now())
      await clock.sleep(notBefore - clock.now(), patience.signal).catch(() => {});
    if (closed) throw workerErrors.closing();
    return start(script, adopt);
  }

  /** Nobody waits out a crash loop for the sake of code that is about to be replaced or to end. */
  function endBackoff() {
    notBefore = 0;
    patience.abort();
    patience = new AbortController();
  }

  async function retire(process: WorkerProcess | undefined) {
    if (process === undefined) return;
    retiring.add(process);
    await process.stop(Math.max(DRAIN_MS, process.longestMs));
    retiring.delete(process);
  }

  /** Keeps `starting` true to its name: one start at a time, swaps included. */
  function exclusively(work: () => Promise<WorkerProcess>): Promise<WorkerProcess> {
    const mine = (starting ?? Promise.resolve()).then(work, work).finally(() => {
      if (starting === mine) starting = undefined;
    });
    starting = mine;
    return mine;
  }

  return {
    get script() {
      return script;
    },
    get current() {
      return current?.alive ? current : undefined;
    },
    async process() {
      if (current?.alive) return current;
      return exclusively(async () => (current?.alive ? current : startCurrent()));
    },
    async swap(next) {
      endBackoff();
      await exclusively(() =>
        start(next, (process) => {
          const old = current;
          script = next;
          crashes = 0;
          adopt(process);
          void retire(old);
        }),
      );
    },
    async rest() {
      const old = current;
      current = undefined;
      await retire(old);
    },
    async close(graceMs = DRAIN_MS) {
      closed = true;
      endBackoff();
      await starting?.catch(() => {});
      void retire(current);
      current = undefined;
      await Promise.all([...retiring].map((process) => process.stop(graceMs)));
    },
  };
}

/** What workerd wrote, without its decoration: `service user: Uncaught SyntaxError: …`. */
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
