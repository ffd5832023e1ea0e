import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { messageOf, UserError, type Clock, type Log } from "../../kernel/index.ts";
import type { Secrets } from "../../store/index.ts";
import type { CertificateRow, CertificatesTable } from "../certificates-table.ts";
import { parseKeyPair } from "../pair.ts";
import { renewalTime, retryDelayMs } from "../renewal.ts";
import { createAcmeClient } from "./client.ts";
import type { AcmeHttp } from "./http.ts";
import { orderCertificate } from "./order.ts";
import { AcmeProblem } from "./problem.ts";
import type { Solver } from "./solver.ts";

interface RenewDeps {
  table: CertificatesTable;
  secrets: Secrets;
  clock: Clock;
  log: Log;
  http: AcmeHttp;
  directory: string;
  contact: readonly string[];
  solver: Solver;
  /** Time limit for obtaining one certificate. */
  orderMs: number;
  shutdown: AbortSignal;
}

const DAY_MS = 86_400_000;
/**
 * Delay after a local problem, such as a missing zone: it is usually fixed soon, and does not count as a failure at the
 * authority.
 */
const LOCAL_RETRY_MS = 60_000;

/** Context under which the private key of a row is encrypted. */
export const certificateKeyContext = (id: string): string => `tls/${id}`;

/**
 * Requests the certificate for a row whose lease is held, and stores the result. Returns true if there is a new
 * certificate.
 */
export async function renew(parts: RenewDeps, row: CertificateRow, lease: string): Promise<boolean> {
  const { table, secrets, clock, log, http, directory, contact, solver, orderMs, shutdown } = parts;
  const names = JSON.parse(row.names) as string[];
  try {
    const key =
      row.private_key === null
        ? newKey()
        : createPrivateKey(secrets.open(row.private_key, certificateKeyContext(row.id)));
    const signal = AbortSignal.any([shutdown, AbortSignal.timeout(orderMs)]);
    const client = createAcmeClient({ directory, key: await accountKey(parts), http, clock, signal });
    const chain = await orderCertificate({ client, contact, solver, clock, log, signal }, names, key);
    const pair = parseKeyPair({ cert: chain, key: pemOf(key) });
    const isStored = await table.storeIssued(row.id, lease, {
      chain,
      private_key: secrets.seal(pair.key, certificateKeyContext(row.id)),
      not_after: pair.notAfter,
      next_at: renewalTime(pair),
    });
    if (isStored)
      log.info(
        { names, until: new Date(pair.notAfter).toISOString(), renewal: new Date(renewalTime(pair)).toISOString() },
        "tls: certificate issued",
      );
    else log.warn({ names }, "tls: certificate discarded, because another process holds the lease");
    return isStored;
  } catch (err) {
    // A shutdown is not a failure: another process will continue.
    if (shutdown.aborted)
      await table.storeFailure(row.id, lease, { next_at: row.next_at, failures: row.failures, error: row.error });
    else await putOff(parts, row, lease, err);
    return false;
  }
}

async function putOff(
  { table, clock, log }: RenewDeps,
  row: CertificateRow,
  lease: string,
  err: unknown,
): Promise<void> {
  const failures = row.failures + 1;
  const wait =
    err instanceof UserError
      ? LOCAL_RETRY_MS
      : retryDelayMs(failures, err instanceof AcmeProblem ? err.retryAfterMs : undefined);
  const reason = messageOf(err).slice(0, 1000);
  await table.storeFailure(row.id, lease, { next_at: clock.now() + wait, failures, error: reason });
  const daysLeft = row.not_after === null ? undefined : Math.floor((row.not_after - clock.now()) / DAY_MS);
  log[daysLeft !== undefined && daysLeft < 7 ? "error" : "warn"](
    {
      names: JSON.parse(row.names) as unknown,
      reason,
      failures,
      againInSeconds: Math.round(wait / 1000),
      ...(daysLeft !== undefined && { daysLeft }),
    },
    "a TLS certificate could not be had from the ACME server",
  );
}

/** One account for all processes and certificates, created by the first process. */
async function accountKey({ table, secrets, directory }: RenewDeps): Promise<KeyObject> {
  const context = `acme/${directory}`;
  return createPrivateKey(
    secrets.open(await table.account(directory, secrets.seal(pemOf(newKey()), context)), context),
  );
}

const newKey = (): KeyObject => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
const pemOf = (key: KeyObject): string => key.export({ type: "pkcs8", format: "pem" }) as string;
