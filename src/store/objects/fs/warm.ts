import { read, readSync } from "node:fs";
import { Fault } from "../../../kernel/index.ts";

/**
 * Reads from `position` into `into`; returns the number of bytes. Synchronous while recent durations
 * suggest that the page cache serves reads.
 */
export type AdaptiveRead = (fd: number, into: Buffer, position: number) => number | Promise<number>;

/** A cached read takes microseconds; a duration this long indicates a disk read, or another program using the CPU. */
const SLOW_MS = 4;
/** Without read counters (some file systems have none), a duration this long indicates a disk read. */
const VERY_SLOW_MS = 50;
const COOLDOWN_MS = 1000;

interface WarmSenses {
  now(): number;
  /** Returns the number of disk reads by this process. */
  diskReads(): number;
}

const DEFAULT_SENSES: WarmSenses = { now: () => performance.now(), diskReads: () => process.resourceUsage().fsRead };

/**
 * Using the thread pool costs as much as sending 100 KB, so files are read on this thread until a read hits the disk
 * and blocks the event loop; for the next second, reads use the pool.
 */
export function createAdaptiveRead({ now, diskReads }: WarmSenses = DEFAULT_SENSES): AdaptiveRead {
  let coldUntil = -Infinity;
  let readBefore = diskReads();

  function waitedForDisk(ms: number): boolean {
    if (ms <= SLOW_MS) return false;
    const before = readBefore;
    readBefore = diskReads();
    return readBefore > before || ms > VERY_SLOW_MS;
  }

  return (fd, into, position) => {
    const beganAt = now();
    if (beganAt < coldUntil) return readInPool(fd, into, position);
    const count = readSync(fd, into, 0, into.length, position);
    const ended = now();
    if (waitedForDisk(ended - beganAt)) coldUntil = ended + COOLDOWN_MS;
    return requireBytes(count);
  };
}

const readInPool = (fd: number, into: Buffer, position: number) =>
  new Promise<number>((resolve, reject) => {
    read(fd, into, 0, into.length, position, (err, count) => {
      if (err) return reject(err);
      if (count === 0) return reject(ended());
      resolve(count);
    });
  });

function requireBytes(count: number): number {
  if (count === 0) throw ended();
  return count;
}

const ended = () => new Fault("a file is shorter than its recorded size");
