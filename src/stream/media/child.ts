import { type ChildProcess, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { messageOf } from "../../kernel/index.ts";
import type { MediaResult, MediaRun } from "./port.ts";
import { MediaRunError, type MediaRunReason } from "./run-error.ts";

export const STDERR_LIMIT = 16 * 1024;
/** bubblewrap's exit code if its program was killed by a signal. */
const KILLED_EXIT_CODE = 128 + 9;
const FILE_TOO_LARGE_EXIT_CODE = 128 + 25;
/**
 * Exit codes of nice, prlimit and setpriv if the program cannot be run (POSIX, nice), and of a program whose libraries
 * are missing.
 */
const NOT_RUN_EXIT_CODES = [126, 127];
/** bubblewrap exits with 1 for every failure. */
const SANDBOX_EXEC_FAILURE = /^bwrap: execvp /m;
/** Excludes the server's own environment, which contains settings and secrets. */
export const CHILD_ENVIRONMENT = { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C", AV_LOG_FORCE_NOCOLOR: "1" };

type ChildOptions = Required<Pick<MediaRun, "wallMs" | "outputBytes">> &
  Pick<MediaRun, "onOutput"> & {
    signal: AbortSignal;
    nice?: number;
    /** Called with the process group; the function it returns is called when the group is empty. */
    onStart?: (group: number) => () => void;
  };

/** A program, its arguments and the descriptors it inherits. */
export interface ChildCommand {
  command: string[];
  /** Numbered from FIRST_DESCRIPTOR in the child. */
  descriptors?: readonly number[];
  /** Called after the spawn attempt, successful or not. */
  close?: () => void;
}

/** First descriptor number after the standard streams. */
export const FIRST_DESCRIPTOR = 3;

/**
 * Runs one command until it ends. In all cases its process group is empty when this settles. Rejects with
 * MediaRunError, or the error of `onOutput`.
 */
export async function runChild(
  name: string,
  { command: [executable, ...args], descriptors = [], close = () => {} }: ChildCommand,
  { wallMs, outputBytes, onOutput, signal, nice = 0, onStart }: ChildOptions,
): Promise<MediaResult> {
  const child = start();
  if (nice > 0) lowerSession(child.pid, nice);
  const onEnd = child.pid === undefined ? undefined : onStart?.(child.pid);
  let stderr = "";
  let endReason: unknown;
  const end = (failureReason: unknown) => {
    endReason ??= failureReason;
    killGroup(child.pid);
  };
  const fail = (reason: MediaRunReason, message: string) =>
    end(new MediaRunError(reason, `${name} ${message}`, stderr));

  const onAbort = () => end(abortError(name, signal));
  signal.addEventListener("abort", onAbort, { once: true });
  const timer = setTimeout(() => fail("timeout", `took longer than ${wallMs} ms`), wallMs);
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr = (stderr + text).slice(-STDERR_LIMIT)));
  const closed = new Promise<{ code: number | null; signal?: string | null }>((resolve) => {
    child.once("error", (err) => {
      fail("missing", `could not start: ${messageOf(err)}`);
      resolve({ code: null });
    });
    child.once("close", (code, killSignal) => resolve({ code, signal: killSignal }));
  });

  const outputChunks: Buffer[] = [];
  async function take() {
    let size = 0;
    if (child.stdout == null) return;
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (onOutput !== undefined) await onOutput(chunk);
      else if (size > outputBytes) return fail("output", `wrote more than ${outputBytes} bytes`);
      else outputChunks.push(chunk);
    }
  }
  function start(): ChildProcess {
    try {
      if (signal.aborted) throw abortError(name, signal);
      // A spawn that fails for lack of descriptors returns a child without streams; the "error" event follows.
      return spawn(executable!, args, {
        stdio: ["ignore", "pipe", "pipe", ...descriptors],
        detached: true,
        env: CHILD_ENVIRONMENT,
        cwd: "/",
      });
    } finally {
      close();
    }
  }
  try {
    await take().catch(end);
    const exit = await closed;
    if (endReason !== undefined) throw endReason;
    if (exit.code !== 0) throw exitError(name, exit, stderr);
    return { output: Buffer.concat(outputChunks), stderr };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
    killGroup(child.pid);
    onEnd?.();
  }
}

export function exitError(
  name: string,
  { code, signal }: { code: number | null; signal?: string | null },
  stderr: string,
): MediaRunError {
  if (signal === "SIGXFSZ" || code === FILE_TOO_LARGE_EXIT_CODE || /File too large/.test(stderr))
    return new MediaRunError("output", `${name} exceeded its file size limit`, stderr);
  if (NOT_RUN_EXIT_CODES.includes(code ?? 0) || SANDBOX_EXEC_FAILURE.test(stderr))
    return new MediaRunError(
      "missing",
      `${name} could not start: ${lastLine(stderr) || `exited with code ${code}`}`,
      stderr,
    );
  if (code === null || code === KILLED_EXIT_CODE)
    return new MediaRunError(
      "killed",
      `${name} was killed: it exceeded its CPU or memory limit, or received a signal`,
      stderr,
    );
  if (/Cannot allocate memory|std::bad_alloc|malloc of size/.test(stderr))
    return new MediaRunError("memory", `${name} exceeded its memory limit`, stderr);
  return new MediaRunError("failed", `${name}: ${lastLine(stderr) || `exited with code ${code}`}`, stderr);
}

const lastLine = (text: string) => text.trim().split("\n").at(-1)!;

export const abortError = (name: string, signal: AbortSignal) =>
  signal.reason instanceof MediaRunError
    ? signal.reason
    : new MediaRunError("aborted", `${name} was cancelled`, "", { cause: signal.reason });

/**
 * With autogrouping (sched(7)) CPU time is first shared among sessions, and niceness has an effect only within a
 * session: `detached` gave this run its own session, which would otherwise have as much weight as that of an urgent
 * run.
 */
export function lowerSession(pid: number | undefined, nice: number): void {
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(nice));
  } catch {
    // A different operating system, a kernel without autogroups, or a run that has ended: only nice(1) applies.
  }
}

export function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group is already empty.
  }
}
