import type { Pair } from "./pair.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** When two thirds of its life are over: what goes wrong then has a third of it to be put right in. */
export const renewAt = ({ notBefore, notAfter }: Pick<Pair, "notBefore" | "notAfter">): number =>
  Math.floor(notBefore + ((notAfter - notBefore) * 2) / 3);

/**
 * Milliseconds until it is asked for again after so many failures in a row, from 1. Authorities count them, Let's Encrypt to five in an hour:
 * four fall into the first. `asked` is what the server itself wants.
 */
export const retryIn = (failures: number, asked = 0): number =>
  Math.max(asked, Math.min(5 * MINUTE * 2 ** Math.min(failures - 1, 10), 6 * HOUR));
