import { realpathSync } from "node:fs";
import type { Programs } from "./programs.ts";
import type { MediaCapabilities } from "./port.ts";

export type Sandbox = MediaCapabilities["sandbox"];

export interface Confined {
  reads: readonly string[];
  writes?: string | undefined;
  /** Default: none. Only bubblewrap can take it away. */
  network?: boolean | undefined;
  nice: number;
  cpuSeconds: number;
  memoryMb: number;
  /** Of any one file that it writes. */
  fileBytes: number;
}

/**
 * The whole command: what lowers and limits, what shuts in, and the program. All of them replace themselves by the next, so that one process id stands for
 * everything: with bubblewrap its death is the death of all (--die-with-parent inside, PR_SET_PDEATHSIG towards us), without it the program's own.
 */
export function confine(programs: Programs, sandbox: Sandbox, program: string, args: readonly string[], run: Confined): string[] {
  return [...lowered(programs, run), ...(sandbox === "none" ? [] : limited(programs, run)), ...(sandbox === "bwrap" ? shutIn(programs, program, run) : diesWithUs(programs)), program, ...args];
}

const lowered = ({ nice }: Programs, run: Confined) => (nice === undefined || run.nice === 0 ? [] : [nice, "-n", String(run.nice)]);

/** The soft limit equals the hard one: SIGKILL comes at once, where ffmpeg would take SIGXCPU for a wish to end in order. */
function limited({ prlimit }: Programs, { cpuSeconds, memoryMb, fileBytes }: Confined): string[] {
  if (prlimit === undefined) return [];
  const both = (value: number) => `${value}:${value}`;
  return [prlimit, `--as=${both(memoryMb * 1024 * 1024)}`, `--cpu=${both(Math.ceil(cpuSeconds))}`, `--fsize=${both(fileBytes)}`, `--nofile=${both(256)}`, "--core=0:0", "--"];
}

const diesWithUs = ({ setpriv }: Programs) => (setpriv === undefined ? [] : [setpriv, "--pdeathsig", "KILL", "--no-new-privs", "--"]);

/**
 * A file system of the system's programs, the named files and nothing else; no network, unless it is asked for; no other process to be seen. Files keep their paths.
 * No --new-session: it is there against a terminal, and this run has left ours already; another session would escape what is said of the one it has.
 * /etc/alternatives: on Debian ffmpeg's libblas is a link that leads through there. No /proc: inside a container it may not be mounted.
 */
function shutIn({ bwrap }: Programs, program: string, { reads, writes, network = false }: Confined): string[] {
  const real = realpathSync(program);
  return [
    bwrap!, "--unshare-all", ...(network ? ["--share-net"] : []), "--die-with-parent", "--cap-drop", "ALL",
    "--ro-bind", "/usr", "/usr", ...["bin", "lib", "lib64"].flatMap((name) => ["--symlink", `usr/${name}`, `/${name}`]),
    ...["/etc/alternatives", "/etc/ld.so.cache", "/nix/store"].flatMap((path) => ["--ro-bind-try", path, path]),
    "--dev", "/dev", "--tmpfs", "/tmp",
    ...[...new Set([program, real])].filter((path) => !path.startsWith("/usr/")).flatMap((path) => ["--ro-bind", real, path]),
    ...(writes === undefined ? [] : ["--bind", writes, writes]),
    ...reads.flatMap((path) => ["--ro-bind", path, path]),
    "--chdir", "/tmp", "--",
  ];
}
