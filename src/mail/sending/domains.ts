import { silentLog, type Clock, type Ids, type Log } from "../../kernel/index.ts";
import { DnsSyntaxError, isWithin, normalizeDomain } from "../../protocol/dns/index.ts";
import type { Db, Events } from "../../store/index.ts";
import { ZONE_DELETED, type Zone, type Zones } from "../../zones/index.ts";
import type { DkimKeys } from "../dkim-keys/index.ts";
import { mailErrors } from "../errors.ts";
import { spfOf, type NeededRecord, recordOwner, type RecordVerifier } from "../routing/index.ts";
import {
  deleteDomain,
  domainById,
  domainsOf,
  domainByName,
  deleteSendingDomains,
  upsertDomain,
  sendingZones,
  zonesWithSending,
  type SendingDomainRow,
  type SendingTables,
} from "./domains-table.ts";
import { sendingErrors } from "./errors.ts";
import {
  compareSendingRecords,
  findRecords,
  neededSendingRecords,
  unresolvedProblem,
  type ExistingRecords,
  type SendingHosts,
} from "./records.ts";
import type { SendingDnsStatus, SendingDomain, SendingDomains, SendingProblem } from "./types.ts";

interface SendingDomainsDeps {
  db: Db;
  events: Events;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "hex">;
  zones: Zones;
  dkimKeys: DkimKeys;
  hosts: SendingHosts;
  /** True if mail is routed for the name: it remains listed after sending is disabled. */
  isRouted?: (zone: Zone, name: string) => Promise<boolean>;
  verifier?: RecordVerifier;
  /** Maximum number of names per zone. Default 30. */
  limit?: number;
  log?: Log;
}

const TIDY_BATCH_SIZE = 500;
/** How long the missing records of a name are cached, and the maximum number of cached names. */
const MISSING_TTL_MS = 10_000;
const MAX_CACHED_MISSING = 1000;

export function createSendingDomains({
  db,
  events,
  clock,
  ids,
  zones,
  dkimKeys,
  hosts,
  isRouted,
  verifier,
  limit = 30,
  log = silentLog,
}: SendingDomainsDeps): SendingDomains {
  const tables = db.tables<SendingTables>();
  const { managed } = zones.records;
  const keysOf = (zone: Zone, name: string) => ({ zone: zone.id, domain: name, use: "sending" as const });
  const keyRequest = (zone: Zone, name: string) => ({
    ...keysOf(zone, name),
    account: zone.account,
    selector: hosts.label,
    algorithms: hosts.dkimEd25519 === true ? (["rsa", "ed25519"] as const) : (["rsa"] as const),
  });
  const writeInTransaction = (work: (tx: ReturnType<typeof db.tables<SendingTables>>) => Promise<void>) =>
    db.transaction<SendingTables, void>(work);

  const toSendingDomain = (row: SendingDomainRow): SendingDomain => ({
    id: row.id,
    zone: row.zone_id,
    account: row.account_id,
    name: row.name,
    enabled: row.enabled === 1,
    dkimSelector: hosts.label,
    returnPathDomain: `${hosts.label}.${row.name}`,
    previewEnabled: row.preview_enabled === 1,
    dropSuppressed: row.drop_suppressed === 1,
    createdAt: row.created_at,
    modifiedAt: row.modified_at,
  });

  async function requireDomain(zone: Zone, id: string): Promise<SendingDomainRow> {
    const row = await domainById(tables, zone.id, id);
    if (row === undefined) throw sendingErrors.noSendingDomain();
    return row;
  }

  async function checkNameIn(zone: Zone, given: string): Promise<string> {
    if (given.startsWith("*.")) throw sendingErrors.wildcardNotAllowed({ name: given.slice(0, 260) });
    let name: string;
    try {
      name = normalizeDomain(given);
    } catch (err) {
      if (err instanceof DnsSyntaxError)
        throw sendingErrors.sendingNotInZone(
          { name: JSON.stringify(given.slice(0, 260)), zone: zone.name },
          { cause: err },
        );
      throw err;
    }
    if (!isWithin(name, zone.name)) throw sendingErrors.sendingNotInZone({ name, zone: zone.name });
    const nearest = await zones.byName(name, { enclosing: true });
    if (nearest !== undefined && nearest.id !== zone.id)
      throw sendingErrors.sendingOwnZone({ name, other: nearest.name });
    return name;
  }

  async function readState(
    zone: Zone,
    name: string,
  ): Promise<{ found: ExistingRecords; records: NeededRecord[]; problems: SendingProblem[] }> {
    const keys = await dkimKeys.records(keysOf(zone, name));
    const found = await findRecords(managed, zone, name, keys, hosts);
    const records = neededSendingRecords(name, hosts, keys, found);
    return { found, records, problems: compareSendingRecords(records, found, hosts) };
  }

  async function publish(
    zone: Zone,
    name: string,
    { found, records }: Awaited<ReturnType<typeof readState>>,
  ): Promise<void> {
    const owner = recordOwner(zone, name, "email-sending");
    const foreignRecords = [...spfOf(`${hosts.label}.${name}`, found.bounce), ...found.dmarc].filter(
      ({ managedBy }) => managedBy !== owner,
    );
    // An existing record of the user is kept: a second record would invalidate both.
    const recordsToPublish = records.filter(
      (record) => record.type === "MX" || !foreignRecords.some((other) => other.name === record.name),
    );
    await managed.set(zone, {
      owner,
      locked: true,
      meta: { email_sending: true },
      records: recordsToPublish.map((record) => ({ ...record, name: `${record.name}.` })),
    });
  }

  /** Throws for problems that only the user can fix. */
  function refuseConflicts(problems: readonly SendingProblem[], found: ExistingRecords): void {
    const records = (candidateRecords: readonly (NeededRecord | undefined)[]) =>
      candidateRecords
        .map((record) => (record?.priority === undefined ? record?.content : `${record.priority} ${record.content}`))
        .join(", ");
    const foreign = problems.filter(({ code }) => code === "mx.foreign");
    if (foreign.length > 0)
      throw sendingErrors.foreignMx({
        name: foreign[0]!.existing!.name,
        records: records(foreign.map(({ existing }) => existing)),
      });
    for (const { code, existing, multiple = [] } of problems) {
      if (code === "spf.foreign")
        throw sendingErrors.multipleSpf({
          name: existing!.name,
          records: existing!.content,
          include: hosts.spfInclude,
        });
      if (code === "spf.multiple")
        throw sendingErrors.multipleSpf({
          name: multiple[0]!.name,
          records: records(multiple),
          include: hosts.spfInclude,
        });
      if (code === "dkim.conflict")
        throw sendingErrors.multipleDkim({ name: multiple[0]!.name, records: records(multiple) });
      if (code === "dkim.missing" && existing !== undefined)
        throw sendingErrors.multipleDkim({ name: existing.name, records: existing.content });
      // If the user added a record alongside ours, ours is removed.
      if (code === "dmarc.multiple" && found.dmarc.filter(({ managedBy }) => managedBy === null).length > 1)
        throw sendingErrors.multipleDmarc({ name: multiple[0]!.name, records: records(multiple) });
    }
  }

  async function createDomain(zone: Zone, name: string): Promise<void> {
    await dkimKeys.ensure(keyRequest(zone, name));
    const now = await readState(zone, name);
    refuseConflicts(now.problems, now.found);
    await publish(zone, name, now);
    cachedMissing.clear();
  }

  async function status(zone: Zone, id: string): Promise<SendingDnsStatus> {
    const { name, enabled } = await requireDomain(zone, id);
    const { found, records, problems } = await readState(zone, name);
    const missing = problems.length > 0 ? [] : ((await verifier?.missing(name, records)) ?? []);
    const allProblems = [...problems, ...missing.map(unresolvedProblem)];
    const owner = recordOwner(zone, name, "email-sending");
    const ownRecords = [...found.bounce, ...found.dkim, ...found.dmarc].filter(({ managedBy }) => managedBy === owner);
    if (enabled === 0 || ownRecords.length === 0) return { status: "unconfigured", records, problems: allProblems };
    return {
      status:
        allProblems.length > 0 ? "misconfigured" : ownRecords.some(({ locked }) => !locked) ? "unlocked" : "ready",
      records,
      problems: allProblems,
    };
  }

  const cachedMissing = new Map<string, { until: number; records: readonly NeededRecord[] }>();

  async function missingRecords({ id, zone: zoneId, name }: SendingDomain): Promise<readonly NeededRecord[]> {
    const known = cachedMissing.get(id);
    if (known !== undefined && known.until > clock.now()) return known.records;
    const zone = await zones.find(zoneId);
    // These rows are about to be deleted, and another account may have the name by now.
    if (zone === undefined) throw mailErrors.senderDomainNotAvailable({ domain: name, why: "its zone was deleted" });
    const { records, problems } = await readState(zone, name);
    const missingLocally = problems.flatMap(({ code, missing }) =>
      missing === undefined || code === "dmarc.missing" ? [] : [missing],
    );
    // The DMARC policy is optional: mail is delivered even without one.
    const unseenPublicly =
      missingLocally.length > 0
        ? []
        : ((await verifier?.missing(name, records)) ?? []).filter((record) => !record.name.startsWith("_dmarc."));
    cachedMissing.delete(id);
    if (cachedMissing.size >= MAX_CACHED_MISSING) cachedMissing.delete(cachedMissing.keys().next().value!);
    const found = missingLocally.length > 0 ? missingLocally : unseenPublicly;
    cachedMissing.set(id, { until: clock.now() + MISSING_TTL_MS, records: found });
    return found;
  }

  async function enabledDomain(zone: Zone, name: string): Promise<SendingDomainRow | undefined> {
    return (await domainsOf(tables, zone.id)).find((row) => row.name === name && row.enabled === 1);
  }

  async function deleteOrphans(): Promise<void> {
    for (let after: string | undefined = ""; after !== undefined;) {
      const kept: string[] = await zonesWithSending(tables, after, TIDY_BATCH_SIZE);
      for (const id of kept)
        if ((await zones.find(id)) === undefined) await writeInTransaction((tx) => deleteSendingDomains(tx, id));
      after = kept.length < TIDY_BATCH_SIZE ? undefined : kept.at(-1);
    }
  }

  const unsubscribe = events.subscribe(ZONE_DELETED, (zone) => {
    // An empty id means that some notifications were lost.
    (zone === "" ? deleteOrphans() : writeInTransaction((tx) => deleteSendingDomains(tx, zone))).catch((err: unknown) =>
      log.error({ err, zone }, "mail: failed to delete the sending domains of a deleted zone"),
    );
  });

  const domainNamed = domainByName(tables);

  return {
    list: async (zone) =>
      (await domainsOf(tables, zone.id)).filter(({ enabled }) => enabled === 1).map(toSendingDomain),
    get: async (zone, id) => toSendingDomain(await requireDomain(zone, id)),
    async create(zone, given) {
      const name = await checkNameIn(zone, given);
      const rows = await domainsOf(tables, zone.id);
      const before = rows.find((row) => row.name === name);
      if (before === undefined && rows.length >= limit) throw sendingErrors.tooManySendingDomains({ limit });
      await createDomain(zone, name);
      if (before?.enabled === 1) return toSendingDomain(before);
      const now = clock.now();
      const row: SendingDomainRow = {
        id: ids.hex(),
        zone_id: zone.id,
        zone_name: zone.name,
        account_id: zone.account,
        name,
        preview_enabled: 1,
        drop_suppressed: 0,
        created_at: now,
        ...before,
        enabled: 1,
        modified_at: now,
      };
      await writeInTransaction((tx) => upsertDomain(tx, row));
      // Another request may have created the name first, with a different id.
      return toSendingDomain((await enabledDomain(zone, name)) ?? row);
    },
    async update(zone, id, { previewEnabled, dropSuppressed }) {
      const before = await requireDomain(zone, id);
      const after: SendingDomainRow = {
        ...before,
        modified_at: clock.now(),
        ...(previewEnabled !== undefined && { preview_enabled: Number(previewEnabled) }),
        ...(dropSuppressed !== undefined && { drop_suppressed: Number(dropSuppressed) }),
      };
      await writeInTransaction((tx) => upsertDomain(tx, after));
      return toSendingDomain(after);
    },
    async delete(zone, id) {
      const row = await requireDomain(zone, id);
      // Sending is disabled first, so that no mail is sent that cannot be verified.
      const isRoutedName = (await isRouted?.(zone, row.name)) === true;
      await writeInTransaction((tx) =>
        isRoutedName ? upsertDomain(tx, { ...row, enabled: 0, modified_at: clock.now() }) : deleteDomain(tx, row.id),
      );
      await managed.remove(zone, recordOwner(zone, row.name, "email-sending"));
    },
    needed: async (zone, id) => (await readState(zone, (await requireDomain(zone, id)).name)).records,
    status,
    async fix(zone, id) {
      const { name, enabled } = await requireDomain(zone, id);
      if (enabled === 1) await createDomain(zone, name);
      return status(zone, id);
    },
    async preview(zone, given) {
      const name = await checkNameIn(zone, given);
      // Unless requested, keys are generated only for the zone's own name, because there are too many other names.
      if (name === zone.name) await dkimKeys.ensure(keyRequest(zone, name));
      const { records, problems } = await readState(zone, name);
      return { records, problems };
    },
    zones: (account, page) => sendingZones(tables, account, page),
    find: async (name) => {
      const rows = await db.read(domainNamed({ name }));
      // A second row may belong to a deleted zone: it has no owner, so it can safely be deleted.
      for (const row of rows)
        if (rows.length === 1 || (await zones.find(row.zone_id)) !== undefined) return toSendingDomain(row);
      return undefined;
    },
    missingRecords,
    async rotateDkim(zone, name) {
      if ((await enabledDomain(zone, name)) === undefined) throw sendingErrors.noSendingDomain();
      await dkimKeys.rotate(keyRequest(zone, name));
      await publish(zone, name, await readState(zone, name));
    },
    async republish(zone, name) {
      if ((await enabledDomain(zone, name)) === undefined) throw sendingErrors.noSendingDomain();
      await publish(zone, name, await readState(zone, name));
    },
    deleteOrphans,
    close: unsubscribe,
  };
}
