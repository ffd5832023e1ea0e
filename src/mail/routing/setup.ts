import type { Basics } from "../../kernel/basics.ts";
import type { Settings } from "../../kernel/settings.ts";
import type { Secrets, Store } from "../../store/index.ts";
import type { Zones } from "../../zones/index.ts";
import { mxHosts } from "../names.ts";
import { createEmailRouting, type EmailRouting, type EmailRoutingOptions } from "./create.ts";
import type { RecordVerifier } from "./deps.ts";

interface RoutingSetupDeps {
  store: Pick<Store, "db" | "events">;
  zones: Zones;
  scripts: EmailRoutingOptions["scripts"];
  secrets: Secrets;
  settings: Settings;
  /** Returns the URL under which clients reach this server. */
  baseUrl(): string;
  verifier: RecordVerifier;
}

/** Builds Email Routing from the `email` settings. */
export function setUpRouting(
  { store: { db, events }, zones, scripts, secrets, settings: { email }, baseUrl, verifier }: RoutingSetupDeps,
  { clock, ids, log, lifecycle }: Basics,
): EmailRouting {
  const routing = createEmailRouting({
    db,
    events,
    zones,
    scripts,
    secrets,
    clock,
    ids,
    log,
    verifier,
    addresses: { link: (token) => `${baseUrl()}/email/verify/${token}` },
    hosts: { mx: mxHosts(email), spfInclude: email.spf_include, dkimSelector: email.dkim_selector },
    extended: email.extended_rules,
    ...(email.postmaster !== "" && { postmaster: email.postmaster }),
  });
  lifecycle.onStop("email routing", () => routing.close());
  routing
    .deleteOrphans()
    .catch((err: unknown) =>
      log.warn({ err }, "email routing: failed to delete data of deleted zones, will retry at the next start"),
    );
  return routing;
}
