import { join } from "node:path";
import { createClientAddress } from "../kernel/client-address.ts";
import type { Settings } from "../kernel/settings.ts";
import type { OwnAddresses } from "../kernel/own-addresses.ts";
import type { Metrics } from "../kernel/metrics.ts";
import { createMail, type Mail } from "../mail/index.ts";
import { createStream, type Stream } from "../stream/index.ts";
import { checkTogether } from "./belongs-together.ts";
import { composeCertificates, type ServeCertificates } from "./certificates.ts";
import { composeDns, type ServeDns } from "./dns.ts";
import { composeBindings, openStore, type Basics, type Bindings } from "./compose.ts";
import { meterWorkers } from "./meters.ts";
import { composePlatform, openSecrets, type Platform } from "./platform.ts";
import { ownAddressesOf } from "./runtime-settings.ts";
import type { Role } from "./roles.ts";
import type { ServeOptions } from "./serve-options.ts";
import { composeServeWorkers } from "./serve-workers.ts";

/** The modules of a platform process, without its listeners. */
export interface ServeModules {
  platform: Platform;
  bindings: Bindings;
  certificates: ServeCertificates;
  dns: ServeDns;
  mail: Mail;
  stream: Stream;
  metrics: Metrics;
  /** Addresses and ports that are blocked for connections on behalf of users. */
  own: OwnAddresses;
}

/** D1 databases are files of the process that queries them on behalf of the API or a worker. */
export const d1Of = (roles: ReadonlySet<Role>) => ({
  files: roles.has("api") || roles.has("workers") || roles.has("smtp"),
  transfers: roles.has("api"),
});

/** Time limit for pending work after a stop request. */
export const GRACE_MS = 30_000;

export async function openModules(
  settings: Settings,
  roles: ReadonlySet<Role>,
  baseUrl: () => string,
  limits: ServeOptions["limits"],
  basics: Basics,
  exposed = false,
): Promise<ServeModules> {
  const { data_dir: dataDir, database } = settings;
  const { lifecycle } = basics;
  const secrets = openSecrets(settings, dataDir);
  const store = await openStore(dataDir, basics, {
    database: database.url === "" ? undefined : database,
    objects: settings.objects.dir,
  });
  await checkTogether({ ...store, secrets, ids: basics.ids });
  const bindings = composeBindings(store, dataDir, basics, { d1: d1Of(roles) });
  const address = createClientAddress(settings.http.trusted_proxies);
  const client = (request: Parameters<typeof address.ip>[0]) => ({
    ip: address.ip(request) ?? "",
    scheme: address.scheme(request),
  });
  const own = ownAddressesOf(settings);
  const workers = composeServeWorkers(
    { bindings, settings, own, client, ...(limits?.runtime && { limits: limits.runtime }) },
    basics,
  );
  const late: { stream?: Stream } = {};
  const platform = composePlatform(
    {
      store,
      bindings,
      secrets,
      runtime: workers.runtime,
      settings,
      scheduled: roles.has("workers"),
      alsoHeld: (account) => late.stream!.contents(account),
    },
    basics,
  );
  const metrics = meterWorkers(workers.runtime);
  lifecycle.onStop("metrics", () => metrics.close());
  const dns = composeDns({ settings, zones: platform.zones, metrics, store, roles }, basics);
  const { accounts, zones, scripts, live } = platform;
  const mail = createMail(
    {
      settings,
      store,
      secrets,
      roles,
      accounts,
      zones,
      scripts,
      workers: live,
      dns,
      metrics,
      baseUrl,
      graceMs: limits?.graceMs ?? GRACE_MS,
    },
    basics,
  );
  workers.sendMailWith(mail.binding);
  const certificates = await composeCertificates(
    {
      store,
      secrets,
      settings,
      zones,
      metrics,
      alsoFor: mail.mtaSts.hosts,
      ...(dns.provider && { providerOf: () => dns.provider! }),
    },
    basics,
  );
  const stream = createStream(
    {
      store,
      secrets,
      settings,
      roles,
      metrics,
      serverUrl: baseUrl,
      folder: join(dataDir, "video"),
      tls: certificates.tls,
      own,
      exposed,
    },
    basics,
  );
  late.stream = stream;
  workers.streamWith(stream.binding);
  return { platform, bindings, certificates, dns, mail, stream, metrics, own };
}
