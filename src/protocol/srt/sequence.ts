/**
 * Packet numbers have 31 bits and wrap to 0 (draft-sharabayko-srt-01, 3.1). Message numbers have 26 bits and start at
 * 1.
 */
const SPAN = 2 ** 31;
const LAST_MESSAGE = 0x03ff_ffff;

export const nextSequence = (n: number): number => (n + 1) % SPAN;
export const plusSequence = (n: number, by: number): number => (n + by + SPAN) % SPAN;

/** Distance from `a` to `b`; negative if `b` is before `a`. */
export function sequenceDistance(a: number, b: number): number {
  const forwardDistance = (b - a + SPAN) % SPAN;
  return forwardDistance < SPAN / 2 ? forwardDistance : forwardDistance - SPAN;
}

export const nextMessage = (n: number): number => (n >= LAST_MESSAGE ? 1 : n + 1);
