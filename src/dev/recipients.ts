import { parseAddress } from "../protocol/rfc5322/index.ts";

/** Address patterns of one worker: `support@example.org`, or `*@example.org` for a whole domain. */
export interface Claims {
  worker: string;
  addresses: readonly string[];
}

/**
 * Which worker gets mail for `recipient`: the one that claims the address, else its domain, else the one that the domain names
 * (`anyone@NAME.localhost`), else the first. On a developer's machine no recipient is unknown.
 */
export function workerFor(recipient: string, workers: readonly Claims[]): string {
  const domain = parseAddress(recipient)?.domain;
  return (
    claimedBy(recipient, workers) ??
    workers.find(({ worker }) => domain === `${worker.toLowerCase()}.localhost`)?.worker ??
    workers[0]!.worker
  );
}

/** The worker that asked for mail to `recipient` in its configuration. */
export function claimedBy(recipient: string, workers: readonly Claims[]): string | undefined {
  return claimant(recipient.toLowerCase(), workers) ?? claimant(`*@${parseAddress(recipient)?.domain ?? ""}`, workers);
}

const claimant = (pattern: string, workers: readonly Claims[]) =>
  workers.find(({ addresses }) => addresses.some((address) => address.toLowerCase() === pattern))?.worker;
