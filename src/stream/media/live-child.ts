import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { messageOf } from "../../kernel/index.ts";
import {
  abortError,
  type ChildCommand,
  CHILD_ENVIRONMENT,
  exitError,
  killGroup,
  lowerSession,
  STDERR_LIMIT,
} from "./child.ts";
import { createChildInput } from "./feed.ts";
import type { LiveMedia, LiveMediaRun } from "./port.ts";
import type { MediaResult } from "./port.ts";
import { MediaRunError, type MediaRunReason } from "./run-error.ts";

interface LiveChildOptions extends Pick<LiveMediaRun, "outputs"> {
  /** The whole command, once it is known. If the promise rejects, the run ends before it starts. */
  command: () => Promise<ChildCommand>;
  idleMs: number;
  inputBytes: number;
  nice: number;
  signal: AbortSignal;
}

/** Interval of the stall check. */
const CHECK_INTERVAL_MS = 1000;

/**
 * Like runChild, but streams input and output through pipes for as long as the writer writes: limited by a stall
 * timeout, not by total time.
 */
export function startLiveChild(name: string, options: LiveChildOptions): LiveMedia {
  const feed = createChildInput();
  const killController = new AbortController();
  const done = runLive(name, options, feed, AbortSignal.any([options.signal, killController.signal])).finally(
    feed.discard,
  );
  done.catch(() => {});
  return { stdin: feed.stdin, done, kill: () => killController.abort() };
}

async function runLive(
  name: string,
  { command, outputs, idleMs, inputBytes, nice }: LiveChildOptions,
  feed: ReturnType<typeof createChildInput>,
  signal: AbortSignal,
): Promise<MediaResult> {
  const child = start(await command());
  if (nice > 0) lowerSession(child.pid, nice);
  let stderr = "";
  let endReason: unknown;
  let lastActivityAt = performance.now();
  const recordActivity = () => void (lastActivityAt = performance.now());
  const stopSignal = Promise.withResolvers<void>();
  const end = (failureReason: unknown) => {
    endReason ??= failureReason;
    killGroup(child.pid);
    stopSignal.resolve();
  };
  const fail = (reason: MediaRunReason, message: string) =>
    end(new MediaRunError(reason, `${name} ${message}`, stderr));

  const onAbort = () => end(abortError(name, signal));
  signal.addEventListener("abort", onAbort, { once: true });
  const timer = setInterval(
    () => {
      if (performance.now() - lastActivityAt > idleMs) fail("timeout", `was idle for ${idleMs} ms`);
      else if (feed.stdin.writableLength > inputBytes)
        fail("input", `did not read its input: more than ${inputBytes} bytes are waiting`);
    },
    Math.min(CHECK_INTERVAL_MS, idleMs),
  );
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr = (stderr + text).slice(-STDERR_LIMIT)));
  const closed = new Promise<{ code: number | null; signal?: string | null }>((resolve) => {
    child.once("error", (err) => {
      fail("missing", `could not start: ${messageOf(err)}`);
      resolve({ code: null });
    });
    child.once("close", (code, killSignal) => resolve({ code, signal: killSignal }));
  });
  if (child.stdin != null) feed.connect(child.stdin, recordActivity);

  function start({ command: [executable, ...args], descriptors = [], close }: ChildCommand): ChildProcess {
    try {
      if (signal.aborted) throw abortError(name, signal);
      // A spawn that fails for lack of descriptors returns a child without streams; the "error" event follows.
      return spawn(executable!, args, {
        stdio: ["pipe", "ignore", "pipe", ...outputs.map(() => "pipe" as const), ...descriptors],
        detached: true,
        env: CHILD_ENVIRONMENT,
        cwd: "/",
      });
    } finally {
      close?.();
    }
  }

  async function readPipe(pipe: Readable, consume: LiveMediaRun["outputs"][number]) {
    for await (const chunk of pipe as AsyncIterable<Buffer>) {
      recordActivity();
      await consume(chunk);
      recordActivity();
    }
  }
  try {
    // A reader that never returns must not prevent the end from being reported.
    if (child.stdin != null)
      await Promise.race([
        stopSignal.promise,
        Promise.all(outputs.map((consume, i) => readPipe(child.stdio[3 + i] as Readable, consume).catch(end))),
      ]);
    if (endReason !== undefined) for (const pipe of child.stdio ?? []) pipe?.destroy();
    const exit = await closed;
    if (endReason !== undefined) throw endReason;
    if (exit.code !== 0) throw exitError(name, exit, stderr);
    return { output: Buffer.alloc(0), stderr };
  } finally {
    clearInterval(timer);
    signal.removeEventListener("abort", onAbort);
    killGroup(child.pid);
  }
}
