import { readFileSync } from "node:fs";

/** Wrappers that start every command (`confine`), by their process names in Linux. */
const BEFORE = new Set(["nice", "prlimit", "setpriv", "bwrap"]);

/**
 * Whether a command has started its program. Before that it may not have called PR_SET_PDEATHSIG yet: if stopped then,
 * it would stay stopped forever once this process is killed. False where nothing can be read, as on systems other than
 * Linux.
 */
export function hasBegun(pid: number): boolean {
  try {
    // bubblewrap stays the parent: the program is a child of its child.
    const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").split(" ");
    if (child !== undefined && child !== "") return hasBegun(Number(child));
    return !BEFORE.has(readFileSync(`/proc/${pid}/comm`, "latin1").trim());
  } catch {
    return false;
  }
}
