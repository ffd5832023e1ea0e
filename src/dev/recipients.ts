import { parseAddress } from "../protocol/rfc5322/index.ts";

/** Address patterns handled by a worker: `support@example.org`, or `*@example.org` for a domain. */
export interface Claims {
  worker: string;
  addresses: readonly string[];
}

/**
 * Returns the worker for `recipient`: the one that claims the address, else the domain, else the one named in the
 * domain (`anyone@NAME.localhost`), else the first. In local development every recipient is valid.
 */
export function workerFor(recipient: string, workers: readonly Claims[]): string {
  const domain = parseAddress(recipient)?.domain;
  return (
    claimedBy(recipient, workers) ??
    workers.find(({ worker }) => domain === `${worker.toLowerCase()}.localhost`)?.worker ??
    workers[0]!.worker
  );
}

/** Returns the worker whose configuration claims `recipient`. */
export function claimedBy(recipient: string, workers: readonly Claims[]): string | undefined {
  return claimant(recipient.toLowerCase(), workers) ?? claimant(`*@${parseAddress(recipient)?.domain ?? ""}`, workers);
}

const claimant = (pattern: string, workers: readonly Claims[]) =>
  workers.find(({ addresses }) => addresses.some((address) => address.toLowerCase() === pattern))?.worker;

/**
 * True if a worker may send to `address`. A configuration without a list of verified addresses allows all: no mail is
 * delivered from this server.
 */
export const isVerified = (address: string, verified: readonly string[] | undefined): boolean =>
  verified === undefined || verified.some((otherAddress) => otherAddress.toLowerCase() === address.toLowerCase());
