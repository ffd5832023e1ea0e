/** Numbers of packets: 31 bits, and 0 follows the last (draft-sharabayko-srt-01, 3.1). Those of messages have 26, and begin at 1. */
const SPAN = 2 ** 31;
const LAST_MESSAGE = 0x03ff_ffff;

export const nextSequence = (n: number): number => (n + 1) % SPAN;
export const plusSequence = (n: number, by: number): number => (n + by + SPAN) % SPAN;

/** How far `b` is behind `a`: negative where it is before it. */
export function distance(a: number, b: number): number {
  const ahead = (b - a + SPAN) % SPAN;
  return ahead < SPAN / 2 ? ahead : ahead - SPAN;
}

export const nextMessage = (n: number): number => (n >= LAST_MESSAGE ? 1 : n + 1);
