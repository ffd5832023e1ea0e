import type { Pair } from "./pair.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** After two thirds of the lifetime: a third remains to fix problems. */
export const renewAt = ({ notBefore, notAfter }: Pick<Pair, "notBefore" | "notAfter">): number =>
  Math.floor(notBefore + ((notAfter - notBefore) * 2) / 3);

/**
 * Delay in milliseconds after `failures` consecutive failures, from 1. Authorities limit failures (Let's Encrypt: five
 * per hour); four attempts fall into the first hour. `asked` is the delay that the server requested.
 */
export const retryIn = (failures: number, asked = 0): number =>
  Math.max(asked, Math.min(5 * MINUTE * 2 ** Math.min(failures - 1, 10), 6 * HOUR));
