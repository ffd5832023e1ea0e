import { createHash } from "node:crypto";
import { leaseToken, type Clock, type Ids, type Log } from "../kernel/index.ts";
import type { Db, Events, Secrets } from "../store/index.ts";
import { describeRow, type DescribedCertificate } from "./described.ts";
import { createAcmeHttp } from "./acme/http.ts";
import { renew, certificateKeyContext } from "./acme/renew.ts";
import type { Solver } from "./acme/solver.ts";
import type { Certificates } from "./certificates.ts";
import { createCertificatesTable, type CertificateRow } from "./certificates-table.ts";
import { shareFairly, type TenantHosts } from "./fair-share.ts";
import { createCertificateStore } from "./held.ts";
import { parseKeyPair, type CertificateKeyPair } from "./pair.ts";

export interface AcmeCertificatesOptions {
  db: Db;
  events: Events;
  secrets: Secrets;
  clock: Clock;
  ids: Ids;
  log: Log;
  /** URL of the ACME directory. */
  directory: string;
  /** Contact URLs: `mailto:` addresses. */
  contact?: readonly string[];
  /** PEM: authorities that sign the ACME server's own certificate. Default: the public ones. */
  ca?: string | undefined;
  solver: Solver;
  /** The certificates of the server, each as a list of names; the first one is the default. */
  ownNames: readonly (readonly string[])[];
  /**
   * Hosts of tenants that need a certificate of their own. Called at each poll. At most 2,000 with those of the server.
   */
  tenantHosts: TenantHosts;
  /** Served for names that have no certificate yet. */
  fallback: CertificateKeyPair;
  /** Poll interval for due and renewed certificates. Default one minute. */
  pollMs?: number;
  /** Time limits for one request to the ACME server, default 30 s, and for one certificate, default 5 minutes. */
  limits?: { requestMs?: number; orderMs?: number };
}

interface AcmeCertificates extends Certificates {
  /**
   * Starts requesting certificates. Call it once the listeners for HTTP-01 exist. Until then only stored certificates
   * are served.
   */
  start(): void;
  /** Certificates that are served or awaited; at most 1000. */
  list(): Promise<DescribedCertificate[]>;
}

const CHANGED = "certificates.changed";
const MAX_CERTIFICATES = 2000;
const DAY_MS = 86_400_000;

/**
 * Certificates from an ACME server, stored in the database and shared by all processes. The process that finds one due
 * acquires a lease and requests it; the others receive a notification and serve it. Renewal keeps the private key, so
 * that TLSA records remain valid (RFC 7671 5.1).
 */
export async function createAcmeCertificates(options: AcmeCertificatesOptions): Promise<AcmeCertificates> {
  const {
    db,
    events,
    secrets,
    clock,
    ids,
    log,
    directory,
    contact = [],
    ca,
    solver,
    ownNames,
    tenantHosts,
    fallback,
    pollMs = 60_000,
    limits: { requestMs, orderMs = 5 * 60_000 } = {},
  } = options;
  const table = createCertificatesTable(db);
  const http = createAcmeHttp({ ca, ...(requestMs !== undefined && { timeoutMs: requestMs }) });
  const certificateStore = createCertificateStore(fallback);
  const stopController = new AbortController();
  let watchTask: Promise<void> | undefined;
  /** Checks run one after another, so that each one sees the result of the previous one. */
  let turn = Promise.resolve();

  async function readWantedRows(): Promise<(CertificateRow & { account: string | undefined })[]> {
    const issuedNames = await table.issuedNames(directory, clock.now());
    const issuedHosts = new Set(issuedNames.flatMap((names) => (names.length === 1 ? names : [])));
    const isIssued = (host: string) => issuedHosts.has(host);
    const hosts = await tenantHosts((candidates, shareLimits) => shareFairly(candidates, shareLimits, isIssued));
    const requested = [
      ...ownNames.map((names) => ({ names, account: undefined })),
      // Renewals first: they are due before their certificate expires.
      ...hosts
        .toSorted((a, b) => Number(isIssued(b.host)) - Number(isIssued(a.host)))
        .map(({ host, account }) => ({ names: [host], account })),
    ].slice(0, MAX_CERTIFICATES);
    const accounts = new Map<string, string | undefined>();
    const rows = requested.map(({ names: given, account }) => {
      const names = [...new Set(given.map((name) => name.toLowerCase()))];
      const id = idOf(directory, names);
      if (!accounts.has(id)) accounts.set(id, account);
      return { id, directory, names: JSON.stringify(names), next_at: clock.now() };
    });
    const read = async () => new Map((await table.rows(rows.map(({ id }) => id))).map((row) => [row.id, row]));
    let rowsById = await read();
    const missing = rows.filter(({ id }) => !rowsById.has(id));
    if (missing.length > 0) {
      await table.ensureRows(missing);
      rowsById = await read();
    }
    return [...accounts].flatMap(([id, account]) => {
      const row = rowsById.get(id);
      return row === undefined ? [] : [{ ...row, account }];
    });
  }

  function applyRows(rows: readonly CertificateRow[]) {
    const before = new Map(certificateStore.current().map((pair) => [pair.cert, pair]));
    const [first, ...rest] = rows.map(({ id, names, chain, private_key: key }) => {
      if (chain === null || key === null) return undefined;
      try {
        return before.get(chain) ?? parseKeyPair({ cert: chain, key: secrets.open(key, certificateKeyContext(id)) });
      } catch (err) {
        log.error({ err, names }, "tls: failed to read a stored certificate");
        return undefined;
      }
    });
    const pairs: [CertificateKeyPair, ...CertificateKeyPair[]] = [
      first ?? fallback,
      ...rest.filter((pair) => pair !== undefined),
    ];
    if (
      pairs.length !== before.size ||
      pairs.some((pair) => !before.has(pair.cert)) ||
      pairs[0].cert !== certificateStore.current()[0].cert
    )
      certificateStore.replace(pairs);
  }

  async function checkCertificates({ ask }: { ask: boolean }) {
    const rows = await readWantedRows();
    applyRows(rows);
    if (!ask) return;
    // An order may take minutes: after a failure, an account waits for the next poll, so that it delays others only
    // once.
    const failedAccounts = new Set<string>();
    for (const { id, next_at, account } of rows) {
      if (stopController.signal.aborted) return;
      if (next_at > clock.now() || (account !== undefined && failedAccounts.has(account))) continue;
      const lease = leaseToken(ids);
      const row = await table.claim(id, lease, clock.now(), clock.now() + orderMs + 60_000);
      if (row === undefined) continue;
      if (
        !(await renew(
          { table, secrets, clock, log, http, directory, contact, solver, orderMs, shutdown: stopController.signal },
          row,
          lease,
        ))
      ) {
        if (account !== undefined) failedAccounts.add(account);
        continue;
      }
      applyRows(await readWantedRows());
      events.publish(CHANGED, id);
    }
    await table.forget(clock.now() - 30 * DAY_MS);
  }

  const checkInTurn = (how: { ask: boolean }) =>
    (turn = turn
      .then(() => checkCertificates(how))
      .catch((err: unknown) => {
        if (!stopController.signal.aborted) log.warn({ err }, "tls: certificate renewal failed, will retry");
      }));

  async function watch() {
    while (!stopController.signal.aborted) {
      await checkInTurn({ ask: true });
      await clock.sleep(pollMs, stopController.signal).catch(() => {});
    }
  }

  await checkCertificates({ ask: false });
  // Loads certificates from other processes. A renewal may take minutes, so this does not wait for it.
  const unsubscribe = events.subscribe(
    CHANGED,
    () =>
      void readWantedRows()
        .then(applyRows)
        .catch((err: unknown) => log.warn({ err }, "tls: failed to read a renewed certificate")),
  );

  return {
    context: certificateStore.context,
    pem: certificateStore.pem,
    onChange: certificateStore.onChange,
    list: async () => (await table.all(directory, clock.now())).map(describeRow),
    start: () => void (watchTask ??= watch()),
    refresh: () => checkInTurn({ ask: watchTask !== undefined }),
    async close() {
      unsubscribe();
      stopController.abort(new Error("the server is shutting down"));
      await watchTask;
      await turn;
    },
  };
}

const idOf = (directory: string, names: readonly string[]) =>
  createHash("sha256")
    .update(JSON.stringify([directory, ...names.toSorted()]))
    .digest("hex")
    .slice(0, 32);
