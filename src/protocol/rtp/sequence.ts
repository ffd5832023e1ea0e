/**
 * Unwraps numbers that wrap around after this many bits, converting each to the value nearest to the previous one. May
 * start with any number, and decrease.
 */
export function createUnwrapper(bits: 16 | 32): (value: number) => number {
  const range = 2 ** bits;
  let last: number | undefined;
  return (value) => {
    if (last === undefined) return (last = value);
    const forwardDistance = (((value - last) % range) + range) % range;
    last += forwardDistance < range / 2 ? forwardDistance : forwardDistance - range;
    return last;
  };
}
