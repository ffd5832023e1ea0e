import { DnsSyntaxError, isWithin, normalizeDomain } from "../../protocol/dns/index.ts";
import type { DnsRecord, Zone } from "../../zones/index.ts";
import type { DkimRecord } from "../dkim-keys/index.ts";
import { routingErrors } from "./errors.ts";
import { examineRecords, foreignMx, spfOf, type ExaminedRecords } from "./examine.ts";
import { deleteName, upsertName, namesOf, touchZone, type NameRow } from "./names-table.ts";
import { dkimRecords, mxRecords, neededRecords, spfRecord, type NeededRecord } from "./needed.ts";
import { recordOwner } from "./owner.ts";
import type { RoutingDeps } from "./deps.ts";
import { txtText } from "../../protocol/dns/index.ts";
import { hasInclude, withInclude, withoutInclude } from "../../protocol/spf/index.ts";
import type { RoutingTables } from "./tables.ts";

export interface RoutingDns {
  /**
   * Creates and locks the records of a name, by default the zone's own, and routes its mail. Throws mxInTheWay,
   * notInZone, ownZone, tooManyDomains, and errors of record creation.
   */
  enable(zone: Zone, name?: string): Promise<void>;
  /** Removes the records created by `enable`. Without `name`: for the zone's own name and all names under it. */
  disable(zone: Zone, name?: string): Promise<void>;
  /** Lets users edit the records. Throws notEnabled. */
  unlock(zone: Zone, name?: string): Promise<void>;
  /** Returns the records that a name needs, whether or not they exist. */
  needed(zone: Zone, name?: string): Promise<NeededRecord[]>;
  examine(zone: Zone, name: string): Promise<ExaminedRecords>;
  /** Publishes the next DKIM keys of a name alongside the active ones; `promote` of the DKIM keys activates them. */
  rotateDkim(zone: Zone, name?: string): Promise<DkimRecord[]>;
  /** Writes the records of a name again, for example after its DKIM keys changed. */
  republish(zone: Zone, name?: string): Promise<void>;
}

export function createRoutingDns({
  db,
  clock,
  ids,
  zones,
  dkimKeys,
  hosts,
  limits,
  verifier,
  notifyChanged,
}: RoutingDeps): RoutingDns {
  const tables = db.tables<RoutingTables>();
  const { managed } = zones.records;
  const dkimKeyRef = (zone: Zone, name: string) => ({
    zone: zone.id,
    account: zone.account,
    domain: name,
    use: "routing" as const,
  });
  const dkimRequest = (zone: Zone, name: string) => ({
    ...dkimKeyRef(zone, name),
    selector: hosts.dkimSelector,
    algorithms: hosts.dkimEd25519 === true ? (["rsa", "ed25519"] as const) : (["rsa"] as const),
  });

  const nameInZone = (zone: Zone, given: string | undefined): string => {
    if (given === undefined || given === "") return zone.name;
    let name: string;
    try {
      name = normalizeDomain(given);
    } catch (err) {
      if (err instanceof DnsSyntaxError)
        throw routingErrors.notInZone({ name: given, zone: zone.name }, { cause: err });
      throw err;
    }
    if (!isWithin(name, zone.name)) throw routingErrors.notInZone({ name, zone: zone.name });
    return name;
  };

  async function checkName(zone: Zone, name: string, rows: readonly NameRow[]): Promise<void> {
    const nearest = await zones.byName(name, { enclosing: true });
    if (nearest !== undefined && nearest.id !== zone.id) throw routingErrors.ownZone({ name, other: nearest.name });
    if (!rows.some((row) => row.name === name) && rows.length >= limits.names)
      throw routingErrors.tooManyDomains({ limit: limits.names });
  }

  /**
   * Adds our include to a user's own SPF record, because a name may have only one (RFC 7208 4.5). Returns the record's
   * id if it was changed.
   */
  async function joinSpf(zone: Zone, existingRecords: readonly DnsRecord[], name: string): Promise<string | null> {
    const [firstSpf, ...more] = spfOf(name, existingRecords);
    if (firstSpf === undefined || more.length > 0 || firstSpf.locked) return null;
    const text = txtText(firstSpf.content);
    if (hasInclude(text, hosts.spfInclude)) return null;
    await zones.records.update(zone, firstSpf.id, { content: withInclude(text, hosts.spfInclude) });
    return firstSpf.id;
  }

  async function leaveSpf(zone: Zone, { name, spfRecord: id }: NameRow): Promise<void> {
    if (id === null) return;
    const record = (await managed.at(zone.id, name, ["TXT"])).find((one) => one.id === id && !one.locked);
    if (record !== undefined)
      await zones.records.update(zone, id, { content: withoutInclude(txtText(record.content), hosts.spfInclude) });
  }

  async function publish(zone: Zone, name: string, existingRecords: readonly DnsRecord[]): Promise<void> {
    const owner = recordOwner(zone, name);
    // A second SPF record alongside a foreign one would invalidate both.
    const isOnlyOwnSpf = spfOf(name, existingRecords).every(({ managedBy }) => managedBy === owner);
    const records = [
      ...mxRecords(name, hosts),
      ...(isOnlyOwnSpf ? [spfRecord(name, hosts)] : []),
      ...dkimRecords(name, await dkimKeys.records(dkimKeyRef(zone, name))),
    ];
    await managed.set(zone, {
      owner,
      locked: true,
      meta: { email_routing: true },
      records: records.map((record) => ({ ...record, name: `${record.name}.` })),
    });
  }

  async function disableName(zone: Zone, row: NameRow): Promise<void> {
    // Records are removed first: as long as they attract mail, it is accepted.
    await managed.remove(zone, recordOwner(zone, row.name));
    await leaveSpf(zone, row);
    await db.transaction<RoutingTables, void>(async (tx) => {
      await touchZone(tx, zone, {}, clock);
      if (row.name === zone.name) await upsertName(tx, { ...row, enabled: false, spfRecord: null }, clock.now());
      else await deleteName(tx, row.id);
    });
    notifyChanged(zone.id, "names");
  }

  async function enabledRow(zone: Zone, name: string): Promise<NameRow> {
    const row = (await namesOf(tables, zone.id)).find((one) => one.name === name);
    if (row?.enabled !== true) throw routingErrors.notEnabled({ name });
    return row;
  }

  return {
    async enable(zone, given) {
      const name = nameInZone(zone, given);
      const rows = await namesOf(tables, zone.id);
      await checkName(zone, name, rows);
      const existingRecords = await managed.at(zone.id, name, ["MX", "TXT"]);
      const foreign = foreignMx(name, mxRecords(name, hosts), existingRecords, recordOwner(zone, name)).sort(
        (a, b) => a.priority! - b.priority! || (a.content < b.content ? -1 : 1),
      );
      if (foreign.length > 0)
        throw routingErrors.mxInTheWay({
          name,
          records: foreign.map(({ priority, content }) => `${priority} ${content}`).join(", "),
        });
      await dkimKeys.ensure(dkimRequest(zone, name));
      const before = rows.find((row) => row.name === name);
      const joinedSpfId = await joinSpf(zone, existingRecords, name);
      await publish(zone, name, existingRecords);
      await db.transaction<RoutingTables, void>(async (tx) => {
        await touchZone(tx, zone, {}, clock);
        await upsertName(
          tx,
          {
            id: before?.id ?? ids.hex(),
            zone: zone.id,
            account: zone.account,
            name,
            enabled: true,
            spfRecord: joinedSpfId ?? before?.spfRecord ?? null,
          },
          clock.now(),
        );
      });
      notifyChanged(zone.id, "names");
    },
    async disable(zone, given) {
      const name = nameInZone(zone, given);
      const rows = await namesOf(tables, zone.id);
      for (const row of rows) if (name === zone.name || row.name === name) await disableName(zone, row);
    },
    async unlock(zone, given) {
      const name = nameInZone(zone, given);
      await enabledRow(zone, name);
      await managed.lock(zone, recordOwner(zone, name), false);
      await db.transaction<RoutingTables, void>((tx) => touchZone(tx, zone, {}, clock));
    },
    async needed(zone, given) {
      const name = nameInZone(zone, given);
      // Names that are not enabled get no keys, because there are too many of them.
      if (name === zone.name) await dkimKeys.ensure(dkimRequest(zone, name));
      return neededRecords(name, hosts, await dkimKeys.records(dkimKeyRef(zone, name)));
    },
    async examine(zone, name) {
      const keys = await dkimKeys.records(dkimKeyRef(zone, name));
      const needed = neededRecords(name, hosts, keys);
      const existingRecords = [
        ...(await managed.at(zone.id, name, ["MX", "TXT"])),
        ...(
          await Promise.all(dkimRecords(name, keys).map((record) => managed.at(zone.id, record.name, ["TXT"])))
        ).flat(),
      ];
      const examination = examineRecords(needed, existingRecords, {
        spfInclude: hosts.spfInclude,
        owner: recordOwner(zone, name),
      });
      const unresolvedRecords = examination.problems.length > 0 ? [] : ((await verifier?.missing(name, needed)) ?? []);
      return {
        ...examination,
        problems: [
          ...examination.problems,
          ...unresolvedRecords.map((missing) => ({ code: "dns.unresolved" as const, missing })),
        ],
      };
    },
    async rotateDkim(zone, given) {
      const name = nameInZone(zone, given);
      await enabledRow(zone, name);
      await dkimKeys.rotate(dkimRequest(zone, name));
      await publish(zone, name, await managed.at(zone.id, name, ["MX", "TXT"]));
      return dkimKeys.records(dkimKeyRef(zone, name));
    },
    async republish(zone, given) {
      const name = nameInZone(zone, given);
      await enabledRow(zone, name);
      await publish(zone, name, await managed.at(zone.id, name, ["MX", "TXT"]));
    },
  };
}
