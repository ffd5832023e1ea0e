/**
 * Milliseconds of processor time that the work takes on this thread. For bounds of what hostile input may cost: unlike the time of day it does not depend on what else
 * the machine does, and what is quadratic is beyond any bound.
 */
export function cpuMs(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
