import { join } from "node:path";
import { createClientAddress } from "../api/index.ts";
import type { Settings } from "../kernel/settings.ts";
import type { Metrics } from "../kernel/metrics.ts";
import type { EmailRouting, Receiver, Spool } from "../mail/index.ts";
import { checkTogether } from "./belongs-together.ts";
import { composeBindings, composeLocalMail, openStore, type Basics, type Bindings } from "./compose.ts";
import { composeEmailRouting, routeOf } from "./email-routing.ts";
import { meterWorkers } from "./meters.ts";
import { composePlatform, openSecrets, type Platform } from "./platform.ts";
import type { Role } from "./roles.ts";
import { egressOf, limitsOf, processesOf } from "./runtime-settings.ts";
import type { ServeOptions } from "./serve-options.ts";

/** Everything a platform process is made of, but for its listeners. */
export interface ServeRooms {
  platform: Platform;
  bindings: Bindings;
  routing: EmailRouting;
  receiver: Receiver;
  spool: Spool;
  metrics: Metrics;
}

export async function openRooms(settings: Settings, roles: ReadonlySet<Role>, baseUrl: () => string, limits: ServeOptions["limits"], basics: Basics): Promise<ServeRooms> {
  const { data_dir: dataDir, database } = settings;
  const { log, lifecycle } = basics;
  const secrets = openSecrets(settings, dataDir);
  const address = createClientAddress(settings.http.trusted_proxies);
  const store = await openStore(dataDir, basics, { database: database.url === "" ? undefined : database, objects: settings.objects.dir });
  await checkTogether({ ...store, secrets, ids: basics.ids });
  const bindings = composeBindings(store, dataDir, basics);

  // Mail needs the runtime, the platform needs the runtime that mail has made, and mail asks the platform where a recipient leads.
  const late: { platform?: Platform; routing?: EmailRouting } = {};
  const { runtime, receiver, spool, transport } = composeLocalMail(
    {
      bindings,
      mailDirectory: join(dataDir, "mail"),
      spoolDirectory: join(dataDir, "spool"),
      egress: egressOf(settings),
      ...processesOf(settings),
      client: (request) => ({ ip: address.ip(request) ?? "", scheme: address.scheme(request) }),
      limits: { ...limitsOf(settings), ...limits?.runtime },
      traceLevel: "info",
      onCaptured: ({ mail, files }) => log.info({ message: mail.inbound?.id, messageId: mail.messageId, to: mail.to, file: files[0]?.path }, "mail of a worker was written to a file"),
      route: (recipient) => routeOf(recipient, late.routing!, late.platform!, settings.workers.domain),
      rules: {},
      observe(processes) {
        late.platform = composePlatform({ store, bindings, secrets, runtime: processes, settings, scheduled: roles.has("workers") }, basics);
        return { ...processes, email: (name, mail, actions) => late.platform!.live.email(refOf(name), mail, actions) };
      },
    },
    basics,
  );
  const platform = late.platform!;
  late.routing = composeEmailRouting({ store, platform, secrets, settings, transport, baseUrl }, basics);
  const metrics = meterWorkers(runtime);
  lifecycle.onStop("metrics", () => metrics.close());
  return { platform, bindings, routing: late.routing, receiver, spool, metrics };
}

/** What the mail room calls a worker of an account: see worker-addresses.ts. */
function refOf(name: string) {
  const slash = name.indexOf("/");
  return { account: name.slice(0, slash), script: name.slice(slash + 1) };
}
