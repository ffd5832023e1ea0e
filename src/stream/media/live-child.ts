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
const LOOK_MS = 1000;

/**
 * Like runChild, but streams input and output through pipes for as long as the writer writes: limited by a stall
 * timeout, not by total time.
 */
export function startLiveChild(name: string, options: LiveChildOptions): LiveMedia {
  const feed = createChildInput();
  const killed = new AbortController();
  const done = runLive(name, options, feed, AbortSignal.any([options.signal, killed.signal])).finally(feed.discard);
  done.catch(() => {});
  return { stdin: feed.stdin, done, kill: () => killed.abort() };
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
  let ended: unknown;
  let moved = performance.now();
  const sign = () => void (moved = performance.now());
  const stopped = Promise.withResolvers<void>();
  const end = (why: unknown) => {
    ended ??= why;
    killGroup(child.pid);
    stopped.resolve();
  };
  const fail = (reason: MediaRunReason, message: string) =>
    end(new MediaRunError(reason, `${name} ${message}`, stderr));

  const onAbort = () => end(abortError(name, signal));
  signal.addEventListener("abort", onAbort, { once: true });
  const timer = setInterval(
    () => {
      if (performance.now() - moved > idleMs) fail("timeout", `was idle for ${idleMs} ms`);
      else if (feed.stdin.writableLength > inputBytes)
        fail("input", `did not read its input: more than ${inputBytes} bytes are waiting`);
    },
    Math.min(LOOK_MS, idleMs),
  );
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr = (stderr + text).slice(-STDERR_LIMIT)));
  const closed = new Promise<{ code: number | null; signal?: string | null }>((resolve) => {
    child.once("error", (err) => {
      fail("missing", `could not start: ${messageOf(err)}`);
      resolve({ code: null });
    });
    child.once("close", (code, by) => resolve({ code, signal: by }));
  });
  if (child.stdin != null) feed.connect(child.stdin, sign);

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

  async function take(pipe: Readable, consume: LiveMediaRun["outputs"][number]) {
    for await (const chunk of pipe as AsyncIterable<Buffer>) {
      sign();
      await consume(chunk);
      sign();
    }
  }
  try {
    // A reader that never returns must not prevent the end from being reported.
    if (child.stdin != null)
      await Promise.race([
        stopped.promise,
        Promise.all(outputs.map((consume, i) => take(child.stdio[3 + i] as Readable, consume).catch(end))),
      ]);
    if (ended !== undefined) for (const pipe of child.stdio ?? []) pipe?.destroy();
    const exit = await closed;
    if (ended !== undefined) throw ended;
    if (exit.code !== 0) throw exitError(name, exit, stderr);
    return { output: Buffer.alloc(0), stderr };
  } finally {
    clearInterval(timer);
    signal.removeEventListener("abort", onAbort);
    killGroup(child.pid);
  }
}
