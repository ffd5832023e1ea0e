import { type Log, messageOf, UserError } from "../../kernel/index.ts";
import type { TenantHost } from "../../certificates/index.ts";
import { formatPolicy, recordFor } from "../../protocol/mtasts/index.ts";
import type { Db, Events } from "../../store/index.ts";
import type { RecordRequest, Zone, Zones } from "../../zones/index.ts";
import {
  enabledNames,
  rowsByName,
  namesOf,
  listZoneIds,
  ROUTING_CHANGED,
  type RoutingTables,
} from "../routing/index.ts";

export interface PublishedStsOptions {
  db: Db;
  events: Events;
  zones: Zones;
  log: Log;
  /** "off" means that nothing is published, and records published earlier are removed. */
  mode: "off" | "testing" | "enforce";
  /** MX hosts for the routed names. */
  mx: readonly string[];
  /** The host that serves the policies over HTTPS: the target of every `mta-sts` CNAME. */
  webHost: string;
  /** Resolves with the URI that receives TLS reports (RFC 8460 3). Default: no reports are requested. */
  reportTo?: ((zone: Zone) => Promise<string>) | undefined;
}

/** The MTA-STS policies of the routed names (RFC 8461): their DNS records, and the policy text served over HTTPS. */
interface PublishedSts {
  /** Returns the policy served by `mta-sts.<name>`; undefined for hosts without a policy. */
  policyOf(host: string): Promise<string | undefined>;
  /** Resolves with policy hosts that need a certificate, sorted by name, at most `limit`. */
  hosts(limit: number): Promise<TenantHost[]>;
  /** Updates the records of all zones. Runs automatically after every change; call it at startup. */
  sweep(): Promise<void>;
  close(): void;
}

const OWNER = "mta-sts";
const PREFIX = "mta-sts.";
const BATCH_SIZE = 200;
/**
 * Seconds for which senders cache a policy. Short, because a domain that stops routing here loses mail from those
 * senders until the policy expires.
 */
const MAX_AGE_SECONDS = 86_400;

export function createPublishedSts({
  db,
  events,
  zones,
  log,
  mode,
  mx,
  webHost,
  reportTo,
}: PublishedStsOptions): PublishedSts {
  const tables = db.tables<RoutingTables>();
  const { managed } = zones.records;
  const policy = mode === "off" ? undefined : formatPolicy({ mode, maxAge: MAX_AGE_SECONDS, mx: [...mx] });

  async function recordsFor(zone: Zone): Promise<RecordRequest[]> {
    if (policy === undefined) return [];
    const names = (await namesOf(tables, zone.id)).filter(({ enabled }) => enabled).map(({ name }) => name);
    const recordsPerName = names.map((name): RecordRequest[] => [
      { type: "TXT", name: `_mta-sts.${name}.`, content: recordFor(policy) },
      { type: "CNAME", name: `mta-sts.${name}.`, content: webHost },
    ]);
    const freeFlags = await Promise.all(
      recordsPerName.map(async ([text, alias]) => {
        const existingRecords = await Promise.all(
          [text!, alias!].map((record) => managed.at(zone.id, record.name.slice(0, -1))),
        );
        // A record that is not managed here means that the domain publishes its own policy.
        return existingRecords.flat().every(({ managedBy }) => managedBy === OWNER);
      }),
    );
    const publishedRecords = recordsPerName.filter((_, index) => freeFlags[index]).flat();
    const reportingNames = names.filter((_, index) => freeFlags[index]);
    return reportingNames.length === 0 || reportTo === undefined
      ? publishedRecords
      : [...publishedRecords, ...(await reportRecords(zone, reportingNames, await reportTo(zone)))];
  }

  /** Two TLS reporting records count as none (RFC 8460 3), so an existing one is left unchanged. */
  async function reportRecords(zone: Zone, names: readonly string[], uri: string): Promise<RecordRequest[]> {
    const freeFlags = await Promise.all(
      names.map(async (name) =>
        (await managed.at(zone.id, `_smtp._tls.${name}`)).every(({ managedBy }) => managedBy === OWNER),
      ),
    );
    return names
      .filter((_, index) => freeFlags[index])
      .map((name) => ({ type: "TXT", name: `_smtp._tls.${name}.`, content: `v=TLSRPTv1; rua=${uri}` }));
  }

  async function reconcile(id: string): Promise<void> {
    const zone = await zones.find(id);
    if (zone === undefined) return;
    const wantedRecords = await recordsFor(zone);
    const toComparableText = (records: { name: string; content?: string | undefined }[]) =>
      records
        .map(({ name, content }) => `${name.replace(/\.$/, "")} ${content?.replaceAll('"', "")}`)
        .sort()
        .join("\n");
    if (toComparableText(await managed.list(id, OWNER)) === toComparableText(wantedRecords)) return;
    await managed.set(zone, { owner: OWNER, locked: true, meta: { email_routing: true }, records: wantedRecords });
  }

  async function reconcileSafely(zone: string) {
    try {
      await reconcile(zone);
    } catch (err) {
      if (err instanceof UserError)
        log.warn({ zone, reason: messageOf(err) }, "mta-sts: failed to create the records of a zone");
      else log.error({ err, zone }, "mta-sts: incorrect records found in a zone");
    }
  }

  async function sweep() {
    for (let after: string | undefined = ""; after !== undefined;) {
      const ids: string[] = await listZoneIds(tables, after, BATCH_SIZE);
      for (const id of ids) await reconcileSafely(id);
      after = ids.length < BATCH_SIZE ? undefined : ids.at(-1);
    }
  }

  const isRouted = async (name: string) => {
    for (const row of await rowsByName(tables, name))
      if (row.enabled && (await zones.find(row.zone)) !== undefined) return true;
    return false;
  };

  const unsubscribe = events.subscribe(ROUTING_CHANGED, (zone) => {
    if (zone !== "names")
      void (zone === "" ? sweep() : reconcileSafely(zone)).catch((err: unknown) =>
        log.error({ err }, "mta-sts: failed to check records, will retry"),
      );
  });

  return {
    sweep,
    policyOf: async (host) =>
      policy !== undefined && host.startsWith(PREFIX) && (await isRouted(host.slice(PREFIX.length)))
        ? policy
        : undefined,
    async hosts(limit) {
      if (policy === undefined) return [];
      return (await enabledNames(tables, limit)).map(({ name, account }) => ({ host: `${PREFIX}${name}`, account }));
    },
    close: unsubscribe,
  };
}
