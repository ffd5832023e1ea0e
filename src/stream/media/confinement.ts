import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  lchownSync,
  lstatSync,
  openSync,
  readdirSync,
  realpathSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { createMemoryFile } from "../../kernel/memory-file.ts";
import { perlSandboxArgs } from "./landlock.ts";
import type { Programs } from "./programs.ts";
import type { MediaCapabilities } from "./port.ts";
import { mediaFilter } from "./seccomp.ts";

export type Sandbox = MediaCapabilities["sandbox"];

/** Linux user and group ids. */
export interface MediaUser {
  uid: number;
  gid: number;
}

/** Confinement of all media programs run by this server. */
interface Confinement {
  sandbox: Sandbox;
  /** User that runs the programs; if absent, the server's own user, which is not root. */
  user?: MediaUser | undefined;
}

export interface ConfinedRun {
  reads: readonly string[];
  writes?: string | undefined;
  /** Network access. Default false. */
  network?: boolean | undefined;
  /** Device files and folders of hardware encoders that the run may use, if they exist. */
  devices?: readonly string[] | undefined;
  nice: number;
  cpuSeconds: number;
  memoryMb: number;
  /** Maximum size of each file written (RLIMIT_FSIZE). */
  fileBytes: number;
}

export interface ConfinedCommand {
  command: string[];
  /** Descriptors that the child inherits, numbered from `firstDescriptor`. close() closes them after the spawn. */
  descriptors: readonly number[];
  close(): void;
}

/**
 * Returns the whole command line: nice, prlimit, the sandbox, and the program. Each executes the next in its place, so
 * they share one process id: killing bubblewrap kills everything inside (--die-with-parent; PR_SET_PDEATHSIG from this
 * process); without bubblewrap the id is the program's. `firstDescriptor`: lowest descriptor number free in the child.
 */
export function confine(
  programs: Programs,
  confinement: Confinement,
  program: string,
  args: readonly string[],
  run: ConfinedRun,
  firstDescriptor: number,
): ConfinedCommand {
  const { sandbox, user } = confinement;
  const descriptors: number[] = [];
  const close = () => descriptors.splice(0).forEach((fd) => closeSync(fd));
  /** Returns the descriptor's number in the child. */
  const passDescriptor = (fd: number) => firstDescriptor + descriptors.push(fd) - 1;
  try {
    const before = [...niceArgs(programs, run), ...(sandbox === "none" ? [] : prlimitArgs(programs, run))];
    if (sandbox === "bwrap") {
      if (user !== undefined)
        for (const path of [...run.reads, ...(run.writes === undefined ? [] : [run.writes])])
          closeSync(openFor(path, user, path === run.writes));
      return {
        command: [...before, ...bwrapArgs(programs, program, run, user, passDescriptor), program, ...args],
        descriptors,
        close,
      };
    }
    const filter = programs.perl === undefined ? undefined : mediaFilter({ network: run.network === true });
    if (sandbox === "none" || (sandbox === "prlimit" && user === undefined && filter === undefined))
      return { command: [...before, ...setprivArgs(programs, user, run), program, ...args], descriptors, close };
    // Paths become descriptors: another user cannot traverse the folders, and Landlock rules apply to open files.
    const opened = new Map<string, number>();
    for (const path of new Set(run.reads)) opened.set(path, passDescriptor(openFor(path, user, false)));
    const writes = run.writes === undefined ? undefined : passDescriptor(openFor(run.writes, user, true));
    const reads = [...opened.values()];
    if (run.writes !== undefined) opened.set(run.writes, writes!);
    const realProgramPath = realpathSync(program);
    const executable =
      user === undefined
        ? program
        : realProgramPath.startsWith("/usr/")
          ? realProgramPath
          : `/proc/self/fd/${passDescriptor(openPath(realProgramPath, constants.O_RDONLY))}`;
    const perlArgs =
      filter === undefined
        ? []
        : perlSandboxArgs(programs.perl!, {
            filter,
            files: sandbox === "landlock",
            reads,
            writes,
            devices: run.devices ?? [],
            program: user === undefined ? realProgramPath : executable,
          });
    return {
      command: [
        ...before,
        ...setprivArgs(programs, user, run),
        ...perlArgs,
        executable,
        ...args.map((arg) => replaceWithDescriptors(arg, opened)),
      ],
      descriptors,
      close,
    };
  } catch (err) {
    close();
    throw err;
  }
}

const niceArgs = ({ nice }: Programs, run: ConfinedRun) =>
  nice === undefined || run.nice === 0 ? [] : [nice, "-n", String(run.nice)];

/**
 * The soft limit equals the hard limit, so the kernel sends SIGKILL: ffmpeg treats SIGXCPU as a request to stop
 * gracefully.
 */
function prlimitArgs({ prlimit }: Programs, { cpuSeconds, memoryMb, fileBytes }: ConfinedRun): string[] {
  if (prlimit === undefined) return [];
  const softAndHard = (value: number) => `${value}:${value}`;
  return [
    prlimit,
    `--as=${softAndHard(memoryMb * 1024 * 1024)}`,
    `--cpu=${softAndHard(Math.ceil(cpuSeconds))}`,
    `--fsize=${softAndHard(fileBytes)}`,
    `--nofile=${softAndHard(256)}`,
    "--core=0:0",
    "--",
  ];
}

const NO_CAPABILITIES = ["--no-new-privs", "--inh-caps=-all", "--ambient-caps=-all"];
function userArgs(user: MediaUser | undefined, { devices = [] }: Pick<ConfinedRun, "devices">): string[] {
  if (user === undefined) return [];
  const groups = deviceGroups(devices);
  return [
    "--reuid",
    String(user.uid),
    "--regid",
    String(user.gid),
    ...(groups.length === 0 ? ["--clear-groups"] : ["--groups", groups.join(",")]),
  ];
}
const setprivArgs = ({ setpriv }: Programs, user: MediaUser | undefined, run: Pick<ConfinedRun, "devices">) =>
  setpriv === undefined ? [] : [setpriv, "--pdeathsig", "KILL", ...NO_CAPABILITIES, ...userArgs(user, run), "--"];

/** Groups such as "render" that own the devices, except root's. */
function deviceGroups(devices: readonly string[]): number[] {
  const files = devices.flatMap((path) => {
    const entry = statSync(path, { throwIfNoEntry: false });
    return entry?.isDirectory() ? readdirSync(path).map((name) => statSync(join(path, name))) : (entry ?? []);
  });
  return [...new Set(files.filter((file) => file.isCharacterDevice() && file.gid !== 0).map(({ gid }) => gid))];
}

/**
 * Returns the arguments for a sandbox. Its file system contains only /usr and the specified files, under their own
 * paths; no network unless requested; no other process visible. Root needs no user namespace and switches to `user`
 * inside; any other user becomes 65534 in a user namespace. --new-session is not used: it protects a terminal, and the
 * child already has its own session; a further session would escape that session's autogroup niceness. --disable-userns
 * is not used: it writes to /proc/sys, which is read-only in a hardened service; the seccomp filter already denies new
 * namespaces. /etc/alternatives is included because on Debian ffmpeg's libblas is a symlink into it. /proc is not
 * mounted: containers may not allow it.
 */
function bwrapArgs(
  { bwrap, setpriv }: Programs,
  program: string,
  { reads, writes, network = false, devices = [] }: ConfinedRun,
  user: MediaUser | undefined,
  passDescriptor: (fd: number) => number,
): string[] {
  const realProgramPath = realpathSync(program);
  const filter = mediaFilter({ network });
  const outsidePaths = [...new Set([program, realProgramPath])].filter((path) => !path.startsWith("/usr/"));
  // Folders that bubblewrap creates for a bind mount are accessible only to their creator.
  const parentFolders = [
    ...new Set(["/etc/x", ...outsidePaths, ...reads, ...(writes === undefined ? [] : [writes])].flatMap(ancestorsOf)),
  ];
  const namespaces = [
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-uts",
    "--unshare-cgroup-try",
    ...(network ? [] : ["--unshare-net"]),
  ];
  return [
    // bubblewrap refuses to start if a non-root service has capabilities.
    ...(user === undefined && setpriv !== undefined ? [setpriv, ...NO_CAPABILITIES, "--"] : []),
    bwrap!,
    ...namespaces,
    ...(user === undefined ? ["--unshare-user", "--uid", "65534", "--gid", "65534"] : []),
    "--die-with-parent",
    "--cap-drop",
    "ALL",
    ...(user === undefined ? [] : ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"]),
    "--ro-bind",
    "/usr",
    "/usr",
    ...["bin", "lib", "lib64"].flatMap((name) => ["--symlink", `usr/${name}`, `/${name}`]),
    "--dev",
    "/dev",
    ...devices.flatMap((path) => ["--dev-bind-try", path, path]),
    // Drivers find the device's properties there.
    ...(devices.length === 0 ? [] : ["--ro-bind-try", "/sys", "/sys"]),
    "--tmpfs",
    "/tmp",
    ...parentFolders.flatMap((path) => ["--dir", path]),
    ...["/etc/alternatives", "/etc/ld.so.cache", "/nix/store"].flatMap((path) => ["--ro-bind-try", path, path]),
    ...outsidePaths.flatMap((path) => ["--ro-bind", realProgramPath, path]),
    ...(writes === undefined ? [] : ["--bind", writes, writes]),
    ...reads.flatMap((path) => ["--ro-bind", path, path]),
    "--chdir",
    "/tmp",
    ...(filter === undefined ? [] : ["--seccomp", String(passDescriptor(createMemoryFile(filter)))]),
    "--",
    ...(user === undefined
      ? []
      : [setpriv!, ...NO_CAPABILITIES, "--bounding-set=-all", ...userArgs(user, { devices }), "--"]),
  ];
}

/** Returns the parent folders of a path, topmost first. */
const ancestorsOf = (path: string): string[] =>
  path
    .split("/")
    .slice(1, -1)
    .map((_, i, names) => `/${names.slice(0, i + 1).join("/")}`);

/**
 * Opens a file for reading or a folder for writing, and grants `user` access to it; parent folders remain inaccessible
 * to that user.
 */
function openFor(path: string, user: MediaUser | undefined, folder: boolean): number {
  const fd = openPath(path, constants.O_RDONLY | (folder ? constants.O_DIRECTORY : 0));
  if (user === undefined) return fd;
  try {
    const { mode, uid, gid } = fstatSync(fd);
    if (folder && uid !== user.uid) fchownSync(fd, user.uid, user.gid);
    if (!folder && (mode & 0o004) === 0 && uid !== user.uid && !(gid === user.gid && (mode & 0o040) !== 0)) {
      fchownSync(fd, uid, user.gid);
      fchmodSync(fd, (mode & 0o7777) | 0o040);
    }
    return fd;
  } catch (err) {
    closeSync(fd);
    throw err;
  }
}

/** A file or folder of a run does not exist or cannot be opened. */
export class FileOpenError extends Error {
  override readonly name = "FileOpenError";
}

const ERROR_TEXTS: Record<string, string> = { ENOENT: "No such file or directory", EACCES: "Permission denied" };

function openPath(path: string, flags: number): number {
  try {
    return openSync(path, flags);
  } catch (err) {
    const text = ERROR_TEXTS[(err as NodeJS.ErrnoException).code ?? ""];
    throw text === undefined ? err : new FileOpenError(`${path}: ${text}`, { cause: err });
  }
}

/** Replaces the longest path first, because one path may be a prefix of another. */
function replaceWithDescriptors(arg: string, opened: ReadonlyMap<string, number>): string {
  const paths = [...opened.keys()].filter((path) => arg.includes(path)).sort((a, b) => b.length - a.length);
  return paths.reduce((text, path) => text.replaceAll(path, `/proc/self/fd/${opened.get(path)}`), arg);
}

/**
 * Makes the server the owner of everything a run has written. Any entry other than a file or folder is an attack: the
 * server, which may read more files, would follow a link. Throws with the name of the first such entry.
 */
export function reclaim(folder: string, user: MediaUser | undefined): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (!entry.isFile() && !entry.isDirectory())
      throw new Error(`the program left ${JSON.stringify(entry.name)}, which is neither a file nor a folder`);
    const path = join(folder, entry.name);
    if (user !== undefined && lstatSync(path).uid === user.uid)
      lchownSync(path, process.geteuid!(), process.getegid!());
  }
}
