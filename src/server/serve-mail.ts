import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Settings } from "../kernel/settings.ts";
import { createCapture, createReceiver, createSendEmail, createSpool, traceTo, type EmailRouting, type Receiver, type Spool } from "../mail/index.ts";
import type { Secrets } from "../store/index.ts";
import type { WorkerRuntime } from "../workers/index.ts";
import type { Basics, Store } from "./compose.ts";
import { composeEmailRouting, routeOf } from "./email-routing.ts";
import type { ServeDns } from "./dns.ts";
import type { Platform } from "./platform.ts";
import type { ServeWorkers } from "./serve-workers.ts";

export interface ServeMailParts {
  store: Store;
  secrets: Secrets;
  settings: Settings;
  platform: Platform;
  workers: ServeWorkers;
  dns: ServeDns;
  /** How people reach this server, once it listens. */
  baseUrl(): string;
}

export interface ServeMail {
  routing: EmailRouting;
  receiver: Receiver;
  spool: Spool;
}

/** Everything mail is made of, in the order in which one part needs the other. */
export function composeServeMail({ store, secrets, settings, platform, workers, dns, baseUrl }: ServeMailParts, basics: Basics): ServeMail {
  const { clock, ids, log, lifecycle } = basics;
  const spool = createSpool({ dir: join(settings.data_dir, "spool"), ids });
  lifecycle.onStop("spool", () => spool.close());
  const trace = traceTo({ log, listeners: [(event) => log.info({ ...event }, "mail")] });

  const files = join(settings.data_dir, "mail");
  mkdirSync(files, { recursive: true, mode: 0o700 });
  const transport = createCapture({
    dir: files,
    onWritten: ({ mail, files: [file] }) => log.info({ message: mail.inbound?.id, messageId: mail.messageId, to: mail.to, file: file?.path }, "mail was written to a file"),
  });
  lifecycle.onStop("captured mail", () => transport.close());

  const routing = composeEmailRouting({ store, platform, secrets, settings, transport, baseUrl, verifier: dns.watch }, basics);
  workers.sendMailWith(createSendEmail({ transport, spool, trace, clock, ids }));
  const receiver = createReceiver({
    runtime: { email: (name, mail, actions) => platform.live.email(refOf(name), mail, actions) } satisfies Pick<WorkerRuntime, "email">,
    route: (recipient) => routeOf(recipient, routing, platform, settings.workers.domain),
    transport, spool, trace, clock, ids, log,
  });
  return { routing, receiver, spool };
}

/** What the mail room calls a worker of an account: see worker-addresses.ts. */
function refOf(name: string) {
  const slash = name.indexOf("/");
  return { account: name.slice(0, slash), script: name.slice(slash + 1) };
}
