import type { DeliveryFault } from "./delivery-fault.ts";

/** Random faults. */
export interface Chaos {
  /** Returns the fault for the next recipient; undefined if there is none. */
  next(): DeliveryFault | undefined;
}

const MAX_DELAY_MS = 2000;

const REPLIES = [
  { code: 421, enhanced: "4.3.2", text: "simulated: service not available" },
  { code: 451, enhanced: "4.7.1", text: "simulated: try again later" },
  { code: 452, enhanced: "4.2.2", text: "simulated: mailbox full" },
  { code: 550, enhanced: "5.1.1", text: "simulated: no such user" },
  { code: 554, enhanced: "5.7.1", text: "simulated: message refused" },
] as const;

/**
 * Random faults for `percent` of the recipients. A seed always yields the same faults, in the order of the recipients.
 */
export function createChaos({ percent, seed }: { percent: number; seed: number }): Chaos {
  const random = createRandom(seed);
  return {
    next() {
      if (random() * 100 >= percent) return undefined;
      const choice = random();
      if (choice < 0.6) return { kind: "reply", reply: { ...REPLIES[Math.floor(random() * REPLIES.length)]! } };
      if (choice < 0.8) return { kind: "drop" };
      return { kind: "delay", ms: Math.ceil(random() * MAX_DELAY_MS) };
    },
  };
}

/** Mulberry32: numbers from 0 to 1 that depend on the seed only. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}
