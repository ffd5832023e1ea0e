import { join } from "node:path";
import { createClientAddress } from "../kernel/client-address.ts";
import type { Settings } from "../kernel/settings.ts";
import type { OwnAddresses } from "../kernel/own-addresses.ts";
import type { Metrics } from "../kernel/metrics.ts";
import type { DmarcReporting } from "../mail/index.ts";
import { createStream, type Stream } from "../stream/index.ts";
import { checkTogether } from "./belongs-together.ts";
import { composeCertificates, type ServeCertificates } from "./certificates.ts";
import { composeDkimRotation } from "./dkim-rotation.ts";
import { composeDns, type ServeDns } from "./dns.ts";
import { composeBindings, openStore, type Basics, type Bindings } from "./compose.ts";
import { meterWorkers } from "./meters.ts";
import { composeDmarcReporting } from "./email-auth.ts";
import { composeMtaSts, type MtaSts } from "./mta-sts.ts";
import { composePlatform, openSecrets, type Platform } from "./platform.ts";
import { ownAddressesOf } from "./runtime-settings.ts";
import type { Role } from "./roles.ts";
import { composeServeMail, type ServeMail } from "./serve-mail.ts";
import type { ServeOptions } from "./serve-options.ts";
import { composeServeWorkers } from "./serve-workers.ts";
import { composeSmtp, type ServeSmtp } from "./smtp.ts";

/** Everything a platform process is made of, but for its listeners. */
export interface ServeRooms {
  platform: Platform;
  bindings: Bindings;
  certificates: ServeCertificates;
  dns: ServeDns;
  mtaSts: MtaSts;
  reports: DmarcReporting;
  mail: ServeMail;
  smtp: ServeSmtp;
  stream: Stream;
  metrics: Metrics;
  /** Addresses and ports that are blocked for connections made on behalf of users. */
  own: OwnAddresses;
}

/** D1 databases are files of the process that queries them for the API or a worker. */
export const d1Of = (roles: ReadonlySet<Role>) => ({
  files: roles.has("api") || roles.has("workers") || roles.has("smtp"),
  transfers: roles.has("api"),
});

/** How long what is under way may take once the server is told to stop. */
export const GRACE_MS = 30_000;

export async function openRooms(
  settings: Settings,
  roles: ReadonlySet<Role>,
  baseUrl: () => string,
  limits: ServeOptions["limits"],
  basics: Basics,
  exposed = false,
): Promise<ServeRooms> {
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
  const reports = composeDmarcReporting({ store, settings, zones: platform.zones, dns }, basics);
  const mtaSts = composeMtaSts({ store, settings, zones: platform.zones, dns, roles, reports }, basics);
  const certificates = await composeCertificates(
    {
      store,
      secrets,
      settings,
      zones: platform.zones,
      metrics,
      alsoFor: mtaSts.hosts,
      ...(dns.provider && { providerOf: () => dns.provider! }),
    },
    basics,
  );
  const mail = composeServeMail(
    { store, secrets, settings, roles, platform, workers, dns, reports, metrics, baseUrl },
    basics,
  );
  if (roles.has("dns"))
    composeDkimRotation(
      { store, settings, zones: platform.zones, routing: mail.routing, sending: mail.sending.publisher, dns },
      basics,
    );
  const {
    receiver,
    spool,
    sending: { sending },
    activity,
  } = mail;
  const { accounts, zones } = platform;
  const smtp = composeSmtp(
    {
      settings,
      receiver,
      spool,
      tls: certificates.tls,
      lookups: dns.lookups,
      metrics,
      accounts,
      zones,
      sending,
      onRefused: activity.refused,
      graceMs: limits?.graceMs ?? GRACE_MS,
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
  return { platform, bindings, certificates, dns, mtaSts, reports, mail, smtp, stream, metrics, own };
}
