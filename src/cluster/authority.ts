import { createAuthority, issueCertificate } from "../certificates/index.ts";
import type { Clock, Log } from "../kernel/index.ts";
import { every } from "../kernel/periodic.ts";
import type { Db, Secrets } from "../store/index.ts";
import { claimAuthority } from "./authority-table.ts";

/** The certificate of this node, and the authority that it shares with the other nodes. PEM. */
interface NodeTls {
  cert: string;
  key: string;
  ca: string;
}

export interface NodeIdentity {
  tls(): NodeTls;
  /** Calls `listener` after each renewal. */
  onRenewed(listener: () => void): void;
  close(): Promise<void>;
}

const NAME = "Reelpost cluster";
/** Encryption context. */
const KEY_CONTEXT = "cluster-authority";
const DAY_MS = 86_400_000;
const YEARS_MS = 30 * 365 * DAY_MS;
const RENEW_MS = 8 * 3_600_000;

/** The host name in the certificate of a node. Nothing resolves it. */
export const nodeHost = (id: string): string => `${id}.node.reelpost.internal`;

/**
 * Signs a one-day certificate for this node. The authority's key is a row, encrypted with the secrets key: a process
 * that can decrypt it belongs to the installation.
 */
export async function createNodeIdentity(deps: {
  db: Db;
  secrets: Secrets;
  clock: Pick<Clock, "now">;
  log: Log;
  id: string;
}): Promise<NodeIdentity> {
  const { db, secrets, clock, log, id } = deps;
  const listeners: (() => void)[] = [];
  const now = clock.now();
  const draft = createAuthority(NAME, { notBefore: now - DAY_MS, notAfter: now + YEARS_MS });
  const stored = await claimAuthority(db, {
    name: NAME,
    certificate: draft.cert,
    private_key: secrets.seal(draft.key, KEY_CONTEXT),
  });
  const authority = { name: NAME, key: secrets.open(stored.private_key, KEY_CONTEXT) };
  let tls = issue();

  function issue(): NodeTls {
    const issuedAt = clock.now();
    // TLS libraries check the validity period against the clock of the machine, which may be slow.
    const validity = { notBefore: issuedAt - DAY_MS, notAfter: issuedAt + DAY_MS };
    return { ...issueCertificate(authority, { host: nodeHost(id), ...validity }), ca: stored.certificate };
  }

  const renewals = every(
    RENEW_MS,
    () => {
      tls = issue();
      for (const listener of listeners) listener();
    },
    { name: "cluster: renewal of the node's certificate", log },
  );
  return { tls: () => tls, onRenewed: (listener) => void listeners.push(listener), close: renewals.stop };
}
