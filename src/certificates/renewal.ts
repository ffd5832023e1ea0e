import type { CertificateKeyPair } from "./pair.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * Returns the time of the renewal: after two thirds of the lifetime, so that one third remains for fixing problems.
 */
export const renewalTime = ({ notBefore, notAfter }: Pick<CertificateKeyPair, "notBefore" | "notAfter">): number =>
  Math.floor(notBefore + ((notAfter - notBefore) * 2) / 3);

/**
 * Delay in milliseconds after `failures` consecutive failures, starting at 1. Authorities limit failures (Let's
 * Encrypt: five per hour); four attempts are made in the first hour. `requestedMs` is the delay requested by the
 * server.
 */
export const retryDelayMs = (failures: number, requestedMs = 0): number =>
  Math.max(requestedMs, Math.min(5 * MINUTE_MS * 2 ** Math.min(failures - 1, 10), 6 * HOUR_MS));
