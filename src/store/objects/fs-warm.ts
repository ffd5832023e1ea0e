import { read, readSync } from "node:fs";
import { Fault } from "../../kernel/index.ts";

/** Fills `into` from `position` of a file on; how many bytes. At once where the system has them in memory, which is told by how long the last ones took. */
export type WarmRead = (fd: number, into: Buffer, position: number) => number | Promise<number>;

/** From memory a read takes microseconds; so long only the disk does, or another program that has the processor. */
const SLOW_MS = 4;
/** Without a count of its reads (some file systems keep none) so long is the disk. */
const VERY_SLOW_MS = 50;
const REST_MS = 1000;

export interface WarmSenses {
  now(): number;
  /** How often this process has made the system read from a disk. */
  diskReads(): number;
}

const SENSES: WarmSenses = { now: () => performance.now(), diskReads: () => process.resourceUsage().fsRead };

/**
 * A hop to the thread pool and back costs as much as sending 100 KB. So files are read on this thread until a read has waited for the disk: it has held
 * up everybody, and the reads of the next second go to the pool, where they hold up nobody.
 */
export function createWarmRead({ now, diskReads }: WarmSenses = SENSES): WarmRead {
  let coldUntil = -Infinity;
  let readBefore = diskReads();

  function waitedForDisk(ms: number): boolean {
    if (ms <= SLOW_MS) return false;
    const before = readBefore;
    readBefore = diskReads();
    return readBefore > before || ms > VERY_SLOW_MS;
  }

  return (fd, into, position) => {
    const began = now();
    if (began < coldUntil) return readInPool(fd, into, position);
    const count = readSync(fd, into, 0, into.length, position);
    const ended = now();
    if (waitedForDisk(ended - began)) coldUntil = ended + REST_MS;
    return some(count);
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

function some(count: number): number {
  if (count === 0) throw ended();
  return count;
}

const ended = () => new Fault("a file ended before its size");
