import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import workerd from "workerd";
import { messageOf, type Log } from "../../kernel/index.ts";
import { workerErrors } from "../errors.ts";

/** Under whom worker processes run; no ids means under the server's own user. */
export interface Identity {
  uid?: number;
  gid?: number;
}

export interface Launcher {
  readonly identity: Identity;
  launch(folder: string, sockets: number): WorkerdProcess;
  close(): void;
}

export interface WorkerdProcess {
  readonly pid: number;
  /** Resolves when all sockets listen; rejects with workerd's own words when it gives up first. */
  readonly ready: Promise<void>;
  /** Never rejects. */
  readonly exited: Promise<Exit>;
  kill(signal: "SIGTERM" | "SIGKILL"): void;
}

export interface Exit {
  code: number | null;
  signal: string | null;
  /** The last of what workerd wrote to stderr. */
  stderr: string;
}

/** The user and group `nobody` of every Linux distribution. */
const NOBODY = 65534;
const SETPRIV = "/usr/bin/setpriv";
const STDERR_LIMIT = 16 * 1024;
/** What workerd says now and then when it is executed through a descriptor, and what is nobody's mistake. */
const OWN_NOTICE = /^.*Unable to find and open the program executable.*\n?/gm;

/**
 * Starts workerd. On Linux through util-linux' setpriv, for two things Node cannot ask for: the process dies with the server, however
 * that ends (PR_SET_PDEATHSIG), and it can gain no privileges. As root it also becomes `nobody`; the program is then opened by us and
 * executed through its descriptor, because nobody may not be able to walk the path to it (an installation under /root).
 * Each has a process group of its own: Ctrl-C on the terminal is for the server, which lets what is under way come to its end first.
 */
export function createLauncher({ log, identity = defaultIdentity() }: { log: Log; identity?: Identity }): Launcher {
  const confined = process.platform === "linux" && existsSync(SETPRIV);
  if (!confined) log[process.getuid?.() === 0 ? "warn" : "debug"]("setpriv (util-linux) is not there: worker processes run as this user and a killed server may leave them behind");
  const effective = confined ? identity : {};
  let program: number | undefined;
  try {
    if (confined) program = openSync(workerd.default, "r");
  } catch (err) {
    throw workerErrors.runtimeMissing({ reason: messageOf(err) });
  }

  return {
    identity: effective,
    launch(folder, sockets) {
      const serve = ["serve", "--control-fd=3", "config.capnp"];
      const options = { cwd: folder, env: { TZ: "UTC" }, stdio: ["ignore", "ignore", "pipe", "pipe", program ?? "ignore"] as const, detached: true };
      const child = confined ? spawn(SETPRIV, [...privileges(effective), "/proc/self/fd/4", ...serve], { ...options, stdio: [...options.stdio] }) : spawn(workerd.default, serve, { ...options, stdio: [...options.stdio] });
      return watch(child, sockets, log);
    },
    close() {
      if (program !== undefined) closeSync(program);
      program = undefined;
    },
  };
}

const defaultIdentity = (): Identity => (process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {});

function privileges({ uid, gid }: Identity): string[] {
  const drop = uid === undefined ? [] : ["--reuid", String(uid), "--regid", String(gid ?? uid), "--clear-groups"];
  return ["--pdeathsig", "SIGKILL", "--no-new-privs", ...drop];
}

function watch(child: ChildProcess, sockets: number, log: Log): WorkerdProcess {
  let stderr = "";
  // A child that could not be spawned for want of descriptors has no streams; its error follows.
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    stderr = (stderr + chunk).slice(-STDERR_LIMIT);
    log.debug({ pid: child.pid, text: chunk.trimEnd() }, "workerd");
  });
  const exited = new Promise<Exit>((resolve) => {
    child.once("error", (err) => resolve({ code: null, signal: null, stderr: messageOf(err) }));
    // "close" and not "exit": by then stderr has been read to its end.
    child.once("close", (code, signal) => resolve({ code, signal, stderr }));
  });
  const listening = new Promise<void>((resolve) => {
    let seen = 0;
    const control = child.stdio?.[3] as NodeJS.ReadableStream | undefined;
    control?.setEncoding("utf8").on("data", (chunk: string) => {
      seen += chunk.split('"event":"listen"').length - 1;
      if (seen >= sockets) resolve();
    });
  });
  const ready = Promise.race([
    listening,
    exited.then((exit) => {
      throw new Error(exit.stderr.replace(OWN_NOTICE, "").trim() || `workerd ended with ${exit.signal ?? `status ${exit.code}`}`);
    }),
  ]);
  ready.catch(() => {});
  return { pid: child.pid ?? -1, ready, exited, kill: (signal) => void child.kill(signal) };
}
