import type { Basics } from "../../kernel/basics.ts";
import type { Repetition } from "../../kernel/periodic.ts";
import type { Settings } from "../../kernel/settings.ts";
import type { Srs } from "../../protocol/srs/index.ts";
import type { Secrets, Store } from "../../store/index.ts";
import type { Signer } from "../authenticate/index.ts";
import type { ServiceKeys } from "../dkim-keys/index.ts";
import type { Trace, Transport } from "../messages/index.ts";
import { smtpName } from "../names.ts";
import { createBounces } from "./bounces.ts";
import type { BounceList, BouncesService } from "./types.ts";

interface BouncesSetupDeps {
  store: Pick<Store, "db" | "sweeps">;
  secrets: Secrets;
  settings: Settings;
  /** Queues delivery reports. */
  queue: Transport;
  srs: Srs;
  signer: Signer;
  /** The keys that sign delivery reports. */
  service: Pick<ServiceKeys, "keys">;
  list?: BounceList;
  /** Resolves with true if Email Sending is enabled for a domain. */
  isSendingDomain?: (domain: string) => Promise<boolean>;
  trace: Trace;
}

interface BouncesSetup {
  bounces: BouncesService;
  /**
   * Starts sending delay notifications and deleting expired return paths. Called in processes with the role outbound.
   */
  start(): void;
}

const SWEEP_MS = 60_000;

/** Builds bounce processing and delivery reports from the settings. */
export function setUpBounces(
  {
    store: { db, sweeps },
    secrets,
    settings: { email, smtp, outbound },
    queue,
    srs,
    signer,
    service,
    list,
    isSendingDomain,
    trace,
  }: BouncesSetupDeps,
  { clock, ids, log, lifecycle }: Basics,
): BouncesSetup {
  const bounces = createBounces({
    db,
    queue,
    srs,
    keys: secrets.derive("return-paths"),
    forwardDomain: email.forward_domain,
    label: email.sending_label,
    name: smtpName(smtp),
    signer,
    signingKeys: () => service.keys(),
    ...(list && { list }),
    ...(isSendingDomain && { isSendingDomain }),
    trace,
    clock,
    ids,
    log,
    // A return path must outlive the last local attempt and the last bounce from a next hop that retries for equally
    // long.
    limits: { pathDays: Math.max(21, outbound.days * 2 + 7) },
  });
  let sweeper: Repetition | undefined;
  lifecycle.onStop("return paths", async () => {
    await sweeper?.stop();
    await bounces.flush();
  });
  return {
    bounces,
    start: () => void (sweeper ??= sweeps.every(SWEEP_MS, bounces.sweep, { name: "bounces: sweep", log })),
  };
}
