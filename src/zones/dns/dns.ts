import { getServers } from "node:dns";
import type { DnsTxtRecords } from "../../certificates/index.ts";
import type { Basics } from "../../kernel/index.ts";
import type { Metrics } from "../../kernel/metrics.ts";
import type { Settings } from "../../kernel/settings.ts";
import type { Store } from "../../store/index.ts";
import type { Zones } from "../create.ts";
import type { LookUpAddresses } from "./address-cache.ts";
import { createDnsTxtRecords } from "./dns-texts.ts";
import { isAbsence } from "./lookup/failure.ts";
import { createLookups, type Lookups } from "./lookup/lookups.ts";
import { readEndpoint } from "./lookup/upstream.ts";
import { createEmbeddedProvider } from "./provider/embedded.ts";
import { selectProvider } from "./provider/select.ts";
import { createPusher, type Pusher } from "./push/pusher.ts";
import { startDnsServer } from "./server.ts";
import { createLookupResolver } from "./verify/record-resolver.ts";
import { createRecordWatch, type RecordWatch } from "./verify/watch.ts";

interface DnsDeps {
  settings: Settings["dns"];
  zones: Pick<Zones, "served" | "byName" | "records">;
  store: Pick<Store, "db" | "events" | "jobs">;
  metrics: Metrics;
  /** True if this process pushes records to the external server, if there is one. */
  pushes: boolean;
}

/** DNS of one process: its resolver, the authoritative server, and pushes to an external server. */
export interface Dns {
  /** The resolver of this process. Queries for zones on this server are answered from our own tables. */
  lookups: Lookups;
  /** The same resolvers, ignoring our own tables. */
  publicLookups: Lookups;
  /** Compares expected records with public DNS. */
  watch: RecordWatch;
  /** True if the records of this zone are entered manually. */
  isManual(zone: string): boolean;
  /** Pushes records to the external server. Undefined if there is none, or if this process does not push. */
  pusher: Pusher | undefined;
  /** TXT records for ACME dns-01, stored where the records of the zones are. */
  texts: DnsTxtRecords;
  /**
   * Starts the authoritative server. Resolves with undefined if this server does not serve the zones. Rejects if the
   * port is in use.
   */
  listen(): Promise<{ host: string; port: number; close(): Promise<void> } | undefined>;
}

/** Builds DNS from the `dns` settings. Throws badResolver, badProvider. */
export function createDns(
  { settings, zones, store: { db, events, jobs }, metrics, pushes }: DnsDeps,
  { clock, log, lifecycle }: Basics,
): Dns {
  const lookupCount = metrics.counter(
    "reelpost_dns_lookups_total",
    "Total number of DNS lookups that were not answered from the cache",
    ["type", "outcome", "own"],
  );
  const answerCount = metrics.counter("reelpost_dns_answers_total", "Total number of responses of the DNS server", [
    "over",
    "rcode",
  ]);
  const servers = (settings.resolvers.length > 0 ? settings.resolvers : getServers()).map(readEndpoint);
  const manualZones = new Set(settings.manual_zones.map((name) => name.toLowerCase().replace(/\.$/, "")));
  const isManual = (name: string) => settings.provider === "manual" || manualZones.has(name);
  const lookups = createLookups({
    servers,
    clock,
    log,
    own: { zones: zones.served, mayServe: ({ name }) => settings.provider === "embedded" && !isManual(name) },
    onLookup: ({ type, outcome, own }) => lookupCount.inc({ type, outcome, own: String(own) }),
  });
  const publicLookups = createLookups({ servers, clock, log });
  const watch = createRecordWatch({ resolvers: [createLookupResolver(lookups)], clock, log });
  const provider = selectProvider(settings, clock);
  const pusher = provider && pushes ? createPusher({ db, events, jobs, clock, log, provider, isManual }) : undefined;
  if (pusher !== undefined) lifecycle.onStop("DNS pushes", () => pusher.close());
  lifecycle.onStop("lookups", () => {
    watch.close();
    lookups.close();
    publicLookups.close();
  });

  return {
    lookups,
    publicLookups,
    watch,
    isManual,
    pusher,
    texts: createDnsTxtRecords({
      zones,
      provider: provider ?? createEmbeddedProvider(zones),
      clock,
      isSingleProcess: !db.isShared,
    }),
    async listen() {
      if (settings.provider !== "embedded") return undefined;
      const server = await startDnsServer({
        zones: zones.served,
        log,
        clock,
        hosts: [settings.host],
        port: settings.port,
        lookUp: addressLookup(lookups),
        onAnswer: (answer) => answerCount.inc(answer),
      });
      return { host: settings.host, port: server.port, close: server.close };
    },
  };
}

const addressLookup =
  (lookups: Lookups): LookUpAddresses =>
  async (host, type) => {
    try {
      return (await lookups.query(host, type)).records.map(({ ttl, data }) => ({ ttl, address: String(data.address) }));
    } catch (err) {
      if (isAbsence(err)) return [];
      throw err;
    }
  };
