import { createAuthority, issueCertificate } from "../certificates/index.ts";
import type { Clock, Log } from "../kernel/index.ts";
import { every } from "../kernel/periodic.ts";
import type { Db, Secrets } from "../store/index.ts";
import { claimAuthority } from "./authority-table.ts";

/** Certificate and key of this node, and the certificate of the cluster's authority, as PEM. */
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
/** Encryption context of the authority's private key. */
const KEY_CONTEXT = "cluster-authority";
const DAY_MS = 86_400_000;
const YEARS_MS = 30 * 365 * DAY_MS;
const RENEW_MS = 8 * 3_600_000;

/** Returns the host name in the certificate of a node. It is not in DNS. */
export const nodeHost = (id: string): string => `${id}.node.reelpost.internal`;

/**
 * Issues certificates for this node, each valid for one day. The authority's private key is stored in the database,
 * encrypted with the secrets key: only processes of this installation can use it.
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
    // The peer checks the validity period against the clock of its machine, which may be slow.
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
