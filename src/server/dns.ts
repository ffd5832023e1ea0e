import { getServers } from "node:dns";
import type { Settings } from "../kernel/settings.ts";
import type { Metrics } from "../kernel/metrics.ts";
import type { RecordVerifier } from "../mail/index.ts";
import {
  type DnsProvider,
  createLookupResolver,
  createLookups,
  createPusher,
  createRecordWatch,
  isAbsence,
  type LookUpAddresses,
  type Lookups,
  type Pusher,
  readEndpoint,
  type RecordWatch,
  startDnsServer,
  type Zones,
} from "../zones/index.ts";
import type { Basics } from "../kernel/index.ts";
import type { Store } from "../store/index.ts";
import { dnsProvider } from "./dns-provider.ts";
import type { Role } from "./roles.ts";

interface ServeDnsParts {
  settings: Settings;
  zones: Zones;
  metrics: Metrics;
  store: Pick<Store, "db" | "events" | "jobs">;
  roles: ReadonlySet<Role>;
}

export interface ServeDns {
  /** The resolver of this process. Queries for zones on this server are answered from our own tables. */
  lookups: Lookups;
  /** The same resolvers, ignoring our own tables. */
  publicLookups: Lookups;
  /** Compares expected records with public DNS. */
  watch: RecordWatch & RecordVerifier;
  /** True if the records of this zone are entered manually. */
  byHand(zone: string): boolean;
  /**
   * Pushes records to the external server that serves the zones; undefined if the zones are embedded or manual, and
   * without the role dns.
   */
  pusher: Pusher | undefined;
  /** The external server that serves the zones; undefined if this server does. */
  provider: DnsProvider | undefined;
  /**
   * Starts the authoritative server, for the role dns; resolves with undefined if an external server serves the zones.
   * Rejects if the port is in use.
   */
  listen(): Promise<{ host: string; port: number; close(): Promise<void> } | undefined>;
}

/** Resolver, DNS server and record pushes. Throws badResolver, badDnsProvider. */
export function composeDns(
  { settings: { dns }, zones, metrics, store: { db, events, jobs }, roles }: ServeDnsParts,
  { clock, log, lifecycle }: Basics,
): ServeDns {
  const lookedUp = metrics.counter(
    "reelpost_dns_lookups_total",
    "Lookups that were not answered from memory, by what was found",
    ["type", "outcome", "own"],
  );
  const answered = metrics.counter("reelpost_dns_answers_total", "Answers of the DNS server", ["over", "rcode"]);
  const servers = (dns.resolvers.length > 0 ? dns.resolvers : getServers()).map(readEndpoint);
  const manual = new Set(dns.manual_zones.map((name) => name.toLowerCase().replace(/\.$/, "")));
  const byHand = (name: string) => dns.provider === "manual" || manual.has(name);
  const lookups = createLookups({
    servers,
    clock,
    log,
    own: { zones: zones.served, mayServe: ({ name }) => dns.provider === "embedded" && !byHand(name) },
    onLookup: ({ type, outcome, own }) => lookedUp.inc({ type, outcome, own: String(own) }),
  });
  const publicLookups = createLookups({ servers, clock, log });
  const watch = createRecordWatch({ resolvers: [createLookupResolver(lookups)], clock, log });
  const provider = dnsProvider(dns, clock);
  const pusher =
    provider && roles.has("dns") ? createPusher({ db, events, jobs, clock, log, provider, byHand }) : undefined;
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
    byHand,
    pusher,
    provider,
    async listen() {
      if (dns.provider !== "embedded") return undefined;
      const server = await startDnsServer({
        zones: zones.served,
        log,
        clock,
        hosts: [dns.host],
        port: dns.port,
        lookUp: addressesBy(lookups),
        onAnswer: (labels) => answered.inc(labels),
      });
      return { host: dns.host, port: server.port, close: server.close };
    },
  };
}

const addressesBy =
  (lookups: Lookups): LookUpAddresses =>
  async (host, type) => {
    try {
      return (await lookups.query(host, type)).records.map(({ ttl, data }) => ({ ttl, address: String(data.address) }));
    } catch (err) {
      if (isAbsence(err)) return [];
      throw err;
    }
  };
