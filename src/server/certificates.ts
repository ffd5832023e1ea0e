import type { IncomingMessage, ServerResponse } from "node:http";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { domainToASCII } from "node:url";
import {
  certificateErrors,
  createAcmeCertificates,
  createDnsSolver,
  createFileCertificates,
  createCertificateStore,
  createHttpSolver,
  loadOrCreateSelfSigned,
  describeCertificate,
  type DnsTxtRecords,
  type CertificateKeyPair,
  type TenantHosts,
} from "../certificates/index.ts";
import { isLoopback, messageOf, type Basics } from "../kernel/index.ts";
import type { Metrics } from "../kernel/metrics.ts";
import type { Settings } from "../kernel/settings.ts";
import type { TlsSource } from "../kernel/tls-source.ts";
import type { Secrets, Store } from "../store/index.ts";
import { smtpName } from "../mail/index.ts";
import { asciiName, checkTls } from "./tls-settings.ts";

interface CertificatesDeps {
  store: Pick<Store, "db" | "events">;
  secrets: Secrets;
  settings: Settings;
  metrics: Metrics;
  /** Stores the TXT records for DNS-01. */
  texts: DnsTxtRecords;
  /** Hosts that need a certificate of their own, in addition to tls.acme_names. Called every minute. */
  tenantHosts?: TenantHosts;
}

export interface ServeCertificates {
  /** Certificates for every TLS listener. */
  tls: TlsSource;
  /** Responds to ACME HTTP-01 requests on any host; false for other requests. */
  respond(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
  /** At most 1000 certificates. */
  list(): Promise<ReturnType<typeof describeCertificate>[]>;
  /** Starts requesting certificates. Call it once the listeners exist. */
  start(): void;
}

/**
 * Certificates per the `tls` settings: files, else ACME, else self-signed. Rejects with certificateErrors for invalid
 * combinations.
 */
export async function composeCertificates(deps: CertificatesDeps, basics: Basics): Promise<ServeCertificates> {
  const {
    settings: { tls },
    metrics,
  } = deps;
  checkTls(tls);
  const chosenCertificates =
    tls.cert_file !== ""
      ? await createFromFiles(tls, basics)
      : tls.acme_directory !== ""
        ? await createFromAcme(deps, basics)
        : await createSelfSigned(deps.settings, basics);
  const expiryGauge = metrics.gauge(
    "reelpost_tls_certificate_expires_seconds",
    "Expiry time of the default TLS certificate (for clients without SNI), in seconds since the Unix epoch",
  );
  const updateExpiry = () =>
    expiryGauge.set(Math.floor(describeCertificate(chosenCertificates.tls.pem(), "file").notAfter! / 1000));
  updateExpiry();
  chosenCertificates.tls.onChange(updateExpiry);
  return chosenCertificates;
}

async function createFromFiles(
  { cert_file: certFile, key_file: keyFile }: Settings["tls"],
  { clock, log, lifecycle }: Basics,
): Promise<ServeCertificates> {
  const tls = await createFileCertificates({ certFile, keyFile, clock, log });
  lifecycle.onStop("certificates", () => tls.close());
  return { tls, respond: async () => false, list: async () => [describeCertificate(tls.pem(), "file")], start() {} };
}

async function createSelfSigned({ http, smtp, ...settings }: Settings, basics: Basics): Promise<ServeCertificates> {
  const tls = createCertificateStore(await createOwnPair({ http, smtp, ...settings }, basics));
  const isExposed = [http.host, smtp.host].some((host) => !isLoopback(host));
  basics.log[isExposed ? "warn" : "debug"](
    "tls: using a self-signed certificate: mail is encrypted, but clients cannot verify the server. Set tls.cert_file or tls.acme_directory",
  );
  return {
    tls,
    respond: async () => false,
    list: async () => [describeCertificate(tls.pem(), "self-signed")],
    start() {},
  };
}

async function createFromAcme(
  { store: { db, events }, secrets, settings, texts, tenantHosts }: CertificatesDeps,
  basics: Basics,
): Promise<ServeCertificates> {
  const { clock, ids, log, lifecycle } = basics;
  const {
    acme_directory: directory,
    acme_email: email,
    acme_names: names,
    acme_challenge: challenge,
    acme_ca_file: caFile,
  } = settings.tls;
  const http = createHttpSolver({ db, clock });
  const tls = await createAcmeCertificates({
    db,
    events,
    secrets,
    clock,
    ids,
    log,
    directory,
    contact: email === "" ? [] : [`mailto:${email}`],
    ca: caFile === "" ? undefined : await readAuthorities(caFile),
    solver: challenge === "http-01" ? http : createDnsSolver(texts),
    ownNames: [names.map(asciiName)],
    tenantHosts: tenantHosts ?? (async () => []),
    fallback: await createOwnPair(settings, basics),
  });
  lifecycle.onStop("certificates", () => tls.close());
  return { tls, respond: http.respond, list: tls.list, start: tls.start };
}

/** Creates a self-signed certificate for all names of this machine. */
function createOwnPair(
  { data_dir: dataDir, smtp, http, tls }: Settings,
  { clock }: Basics,
): Promise<CertificateKeyPair> {
  const publicName = http.public_url === "" ? [] : [new URL(http.public_url).hostname];
  const names = [smtpName(smtp), ...tls.acme_names, ...publicName, "localhost"]
    .map((name) => domainToASCII(name))
    .filter((name) => name !== "");
  return loadOrCreateSelfSigned({ file: join(dataDir, "tls", "self-signed.pem"), names: [...new Set(names)], clock });
}

async function readAuthorities(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (err) {
    throw certificateErrors.unreadable({ path, reason: messageOf(err) }, { cause: err });
  }
}
