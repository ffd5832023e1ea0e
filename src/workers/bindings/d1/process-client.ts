import { spawn } from "node:child_process";
import type { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import { createFrameReader, writeFrame, type Frame } from "./frames.ts";
import type { D1Limits } from "./limits.ts";

/** A process that holds databases (process-main.ts). It handles one request at a time. */
export interface DatabaseProcess {
  readonly pid: number | undefined;
  /** Resolves with the response; rejects if the process ends first. Must not be called again before that. */
  request(header: Record<string, unknown>, body?: Uint8Array): Promise<Frame>;
  /** Kills the process whatever it is doing. Committed data is preserved. */
  kill(): void;
  /** Asks the process to close its files and exit; kills it if that takes too long. */
  end(): Promise<void>;
  readonly ended: Promise<void>;
}

const HEAP_MB = 512;
const EXIT_TIMEOUT_MS = 5_000;
const ERROR_TAIL = 4_096;

// In the published build, this module is .js instead of .ts.
const MODULE = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "./process-main.ts" : "./process-main.js", import.meta.url),
);

export function startDatabaseProcess({
  directory,
  limits,
  onLost,
}: {
  directory: string;
  limits: D1Limits;
  onLost(reason: string): void;
}): DatabaseProcess {
  const child = spawn(process.execPath, [`--max-old-space-size=${HEAP_MB}`, MODULE, JSON.stringify(limits)], {
    stdio: ["ignore", "ignore", "pipe", "pipe"],
    // Passes none of the server's environment variables; large sorts spill to the database directory instead of a small
    // /tmp.
    env: { SQLITE_TMPDIR: directory },
    // A separate process group: Ctrl-C in the terminal is meant for the server, which ends this process once it is
    // unused.
    detached: true,
  });
  // If the process could not start for lack of file descriptors, it has no streams; its error event follows.
  const channel = child.stdio?.[3] as Duplex | undefined;
  let pendingCall: { resolve(frame: Frame): void; reject(reason: Error): void } | undefined;
  let errorOutput = "";
  let isExpectedExit = false;
  let exitReason: string | undefined;

  child.stderr
    ?.setEncoding("utf8")
    .on("data", (text: string) => (errorOutput = (errorOutput + text).slice(-ERROR_TAIL)));
  channel?.on(
    "data",
    createFrameReader((frame) => {
      const { resolve } = pendingCall!;
      pendingCall = undefined;
      resolve(frame);
    }),
  );
  channel?.on("error", () => {}); // Reported by the exit event.
  const ended = new Promise<void>((resolve) => {
    const finish = (reason: string) => {
      exitReason = reason;
      if (!isExpectedExit) onLost(`${reason}${errorOutput ? `: ${errorOutput.trim()}` : ""}`);
      pendingCall?.reject(new Error(reason));
      pendingCall = undefined;
      resolve();
    };
    child.once("error", (error) => finish(error.message));
    child.once("close", (code, signal) => finish(`the database process exited with ${signal ?? `code ${code}`}`));
  });

  const kill = () => {
    isExpectedExit = true;
    child.kill("SIGKILL");
  };

  return {
    pid: child.pid,
    ended,
    kill,
    request: (header, body) =>
      new Promise((resolve, reject) => {
        if (exitReason !== undefined || channel === undefined)
          return reject(new Error(exitReason ?? "the database process could not be started"));
        pendingCall = { resolve, reject };
        writeFrame(channel, header, body);
      }),
    async end() {
      isExpectedExit = true;
      channel?.end();
      const killTimer = setTimeout(kill, EXIT_TIMEOUT_MS);
      await ended;
      clearTimeout(killTimer);
    },
  };
}
