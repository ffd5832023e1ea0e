import { readFileSync } from "node:fs";

/** What a command of ours begins with (`confine`), by the names that Linux shows. */
const BEFORE = new Set(["nice", "prlimit", "setpriv", "bwrap"]);

/**
 * Whether a command has come to its program. Before that it may not have asked yet to die with us (PR_SET_PDEATHSIG): stopped there, it would stand still for
 * ever once we are killed. False where nothing can be read, as outside of Linux.
 */
export function hasBegun(pid: number): boolean {
  try {
    // bubblewrap stays, and the program is a child of its child.
    const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").split(" ");
    if (child !== undefined && child !== "") return hasBegun(Number(child));
    return !BEFORE.has(readFileSync(`/proc/${pid}/comm`, "latin1").trim());
  } catch {
    return false;
  }
}
