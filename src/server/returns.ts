import type { Settings } from "../kernel/settings.ts";
import {
  createReturns,
  type BounceList,
  type ReturnsService,
  type Signer,
  type Trace,
  type Transport,
} from "../mail/index.ts";
import type { Srs } from "../protocol/srs/index.ts";
import type { Secrets } from "../store/index.ts";
import type { Basics, Store } from "./compose.ts";
import type { ServiceKeys } from "./forwarding.ts";
import { smtpName } from "./mail-names.ts";

export interface ReturnsParts {
  store: Pick<Store, "db">;
  secrets: Secrets;
  settings: Settings;
  /** Writes a message into the outbound queue: reports are never relayed while a peer waits. */
  queue: Transport;
  srs: Srs;
  signer: Signer;
  /** Reports come from the domain of forwarded mail. */
  service: Pick<ServiceKeys, "keys">;
  list?: BounceList;
  /** Whether mail is sent from a domain. */
  sends?: (domain: string) => Promise<boolean>;
  trace: Trace;
}

export interface ReturnsRoom {
  returns: ReturnsService;
  /** Warns of late mail and deletes what is over, from now on: for the process that delivers. */
  start(): void;
}

const SWEEP_MS = 60_000;

/** What comes back of mail, and what senders are told. */
export function composeReturns(
  {
    store: { db },
    secrets,
    settings: { email, smtp, outbound },
    queue,
    srs,
    signer,
    service,
    list,
    sends,
    trace,
  }: ReturnsParts,
  { clock, ids, log, lifecycle }: Basics,
): ReturnsRoom {
  const returns = createReturns({
    db,
    queue,
    srs,
    keys: secrets.derive("return-paths"),
    forwardDomain: email.forward_domain,
    label: email.sending_label,
    name: smtpName(smtp),
    signer,
    signWith: () => service.keys(),
    ...(list && { list }),
    ...(sends && { sends }),
    trace,
    clock,
    ids,
    log,
    // A server that keeps trying for longer has longer paths: its last bounce comes after its last try, and the next server's after that.
    limits: { pathDays: Math.max(21, outbound.days * 2 + 7) },
  });
  let timer: NodeJS.Timeout | undefined;
  let sweeping: Promise<void> | undefined;

  function sweep() {
    sweeping ??= returns
      .sweep()
      .catch((err: unknown) => log.warn({ err }, "return paths could not be looked after, it is tried again"))
      .finally(() => (sweeping = undefined));
  }
  lifecycle.onStop("return paths", async () => {
    clearInterval(timer);
    await sweeping;
    await returns.flush();
  });
  return { returns, start: () => void (timer ??= setInterval(sweep, SWEEP_MS).unref()) };
}
