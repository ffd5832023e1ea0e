import { readFileSync } from "node:fs";

/** Wrappers that start every command (`confine`), by their Linux process names. */
const WRAPPER_PROGRAMS = new Set(["nice", "prlimit", "setpriv", "bwrap"]);

/**
 * Returns true if a command has started its program. Before that, it may not have called PR_SET_PDEATHSIG yet: if
 * paused then, it would remain stopped forever after this process is killed. False where this cannot be read, for
 * example on systems other than Linux.
 */
export function hasStartedProgram(pid: number): boolean {
  try {
    // bubblewrap remains the parent: the program is a child of bubblewrap's child.
    const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").split(" ");
    if (child !== undefined && child !== "") return hasStartedProgram(Number(child));
    return !WRAPPER_PROGRAMS.has(readFileSync(`/proc/${pid}/comm`, "latin1").trim());
  } catch {
    return false;
  }
}
