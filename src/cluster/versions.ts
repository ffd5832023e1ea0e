const VERSION = /^(\d+)\.(\d+)\./;

/**
 * True if nodes of both versions may share a database: the major versions are equal, and the minor versions differ by
 * at most one. Versions in another format, such as those of development builds, are compatible only if they are equal.
 */
export function areVersionsCompatible(one: string, other: string): boolean {
  const [first, second] = [VERSION.exec(one), VERSION.exec(other)];
  if (first === null || second === null) return one === other;
  return first[1] === second[1] && Math.abs(Number(first[2]) - Number(second[2])) <= 1;
}
