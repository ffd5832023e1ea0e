/**
 * CPU time in milliseconds that the work takes on this thread. For limits on the cost of hostile input: unlike
 * wall-clock time it does not depend on other load, and quadratic work exceeds any limit.
 */
export function cpuMs(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
