import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import workerd from "workerd";
import { messageOf, type Log } from "../../kernel/index.ts";
import { workerErrors } from "../errors.ts";
import { withLock } from "../objects/process-lock.ts";
import type { Identity } from "./identities.ts";
import { CONFIG_NAME, type RunFolder } from "./run-folders.ts";

export interface Launcher {
  /** True if processes can run as another, unprivileged user. */
  readonly confines: boolean;
  launch(folder: Pick<RunFolder, "path" | "config">, sockets: number, options?: LaunchOptions): WorkerdProcess;
  close(): void;
}

interface LaunchOptions {
  /** Default: the server's own user. */
  identity?: Identity | undefined;
  /** Memory limit, enforced by the kernel with some headroom if prlimit (util-linux) is installed. */
  memoryMb?: number;
  /** Descriptor of the Durable Objects directory, inherited as OBJECTS_FD, and the path of the file that it locks. */
  objects?: { fd: number | undefined; lock: string } | undefined;
}

export interface WorkerdProcess {
  readonly pid: number;
  /** Resolves when workerd is listening on all sockets; rejects with workerd's own error message if it exits first. */
  readonly ready: Promise<void>;
  /** Never rejects. */
  readonly exited: Promise<Exit>;
  kill(signal: "SIGTERM" | "SIGKILL"): void;
}

interface Exit {
  code: number | null;
  signal: string | null;
  /** The end of workerd's stderr output. */
  stderr: string;
}

const SETPRIV = "/usr/bin/setpriv";
/**
 * Returns the path by which the process opens its Durable Objects directory. Inherited descriptors have paths only on
 * Linux; on other systems, the process uses the path of the directory.
 */
export const objectsPath = (path: string): string =>
  process.platform === "linux" ? `/proc/self/fd/${OBJECTS_FD}` : path;
const OBJECTS_FD = 6;
const PRLIMIT = "/usr/bin/prlimit";
/**
 * RLIMIT_DATA counts private writable mappings whether used or not: V8 maps 512 MiB for code on startup. The rest is
 * headroom for other non-resident mappings, so that the watchdog, which reports a reason, usually acts first.
 */
const MAPPED_MB = 512 + 256;
const STDERR_LIMIT = 16 * 1024;
/** Harmless message that workerd sometimes logs when it is executed through a file descriptor. */
const OWN_NOTICE = /^.*Unable to find and open the program executable.*\n?/gm;

/**
 * Starts workerd. On Linux it uses setpriv from util-linux for two things that Node does not support: the process is
 * killed when the server dies (PR_SET_PDEATHSIG), and it has no capabilities and cannot gain any. If permitted, the
 * server also switches the user. The server then opens the program and executes it through the file descriptor, with
 * the folder as working directory, because that user may not be able to traverse the paths. Each process has its own
 * process group: Ctrl-C in the terminal reaches only the server, which completes running requests first.
 */
export function createLauncher({ log }: { log: Log }): Launcher {
  const isConfined = process.platform === "linux" && existsSync(SETPRIV);
  if (!isConfined)
    log[process.getuid?.() === 0 ? "warn" : "debug"](
      "setpriv (util-linux) is not installed: worker processes run as this user and a killed server may leave them behind",
    );
  let program: number | undefined;
  try {
    if (isConfined) program = openSync(workerd.default, "r");
  } catch (err) {
    throw workerErrors.runtimeMissing({ reason: messageOf(err) });
  }

  return {
    confines: isConfined,
    launch({ path, config }, sockets, { identity, memoryMb, objects } = {}) {
      const serve = ["serve", "--control-fd=3", config === undefined ? CONFIG_NAME : `/proc/self/cwd/${CONFIG_NAME}`];
      // The last three entries of `stdio` become file descriptors 4, 5 (CONFIG_FD) and 6 (OBJECTS_FD).
      const options = {
        cwd: path,
        env: { TZ: "UTC" },
        stdio: [
          "ignore",
          "ignore",
          "pipe",
          "pipe",
          program ?? "ignore",
          config ?? "ignore",
          objects?.fd ?? "ignore",
        ] as const,
        detached: true,
      };
      const withObjectsLock = (command: string[]) =>
        objects === undefined ? command : withLock(objects.lock, command);
      const [command, ...args] = isConfined
        ? withMemoryLimit(memoryMb, withObjectsLock([SETPRIV, ...privilegeArgs(identity), "/proc/self/fd/4", ...serve]))
        : withObjectsLock([workerd.default, ...serve]);
      const child = spawn(command!, args, { ...options, stdio: [...options.stdio] });
      return watch(child, sockets, log);
    },
    close() {
      if (program !== undefined) closeSync(program);
      program = undefined;
    },
  };
}

/**
 * The ambient set would survive the change of user. Clearing the bounding set requires CAP_SETPCAP, and that set grants
 * nothing without the others.
 */
function privilegeArgs(identity: Identity | undefined): string[] {
  const drop =
    identity === undefined ? [] : ["--reuid", String(identity.uid), "--regid", String(identity.gid), "--clear-groups"];
  return ["--pdeathsig", "SIGKILL", "--no-new-privs", "--inh-caps=-all", "--ambient-caps=-all", ...drop];
}

/** A fast allocation can exceed the limit between two watchdog samples, so the kernel enforces it too. */
function withMemoryLimit(memoryMb: number | undefined, command: string[]): string[] {
  return memoryMb === undefined || !existsSync(PRLIMIT)
    ? command
    : [PRLIMIT, `--data=${(memoryMb + MAPPED_MB) * 1024 * 1024}`, ...command];
}

function watch(child: ChildProcess, sockets: number, log: Log): WorkerdProcess {
  let stderr = "";
  // A child that could not be spawned for lack of file descriptors has no streams; its error event follows.
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    stderr = (stderr + chunk).slice(-STDERR_LIMIT);
    log.debug({ pid: child.pid, text: chunk.trimEnd() }, "workers: workerd wrote to stderr");
  });
  const exitPromise = new Promise<Exit>((resolve) => {
    child.once("error", (err) => resolve({ code: null, signal: null, stderr: messageOf(err) }));
    // "close" instead of "exit": by then stderr has been read to the end.
    child.once("close", (code, signal) => resolve({ code, signal, stderr }));
  });
  const listening = new Promise<void>((resolve) => {
    let listeningCount = 0;
    const control = child.stdio?.[3] as NodeJS.ReadableStream | undefined;
    control?.setEncoding("utf8").on("data", (chunk: string) => {
      listeningCount += chunk.split('"event":"listen"').length - 1;
      if (listeningCount >= sockets) resolve();
    });
  });
  const readyPromise = Promise.race([
    listening,
    exitPromise.then((exit) => {
      throw new Error(
        exit.stderr.replace(OWN_NOTICE, "").trim() || `workerd exited with ${exit.signal ?? `status ${exit.code}`}`,
      );
    }),
  ]);
  readyPromise.catch(() => {});
  return { pid: child.pid ?? -1, ready: readyPromise, exited: exitPromise, kill: (signal) => void child.kill(signal) };
}
