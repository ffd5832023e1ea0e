import { type Clock, type Log, UserError } from "../../../kernel/index.ts";
import type { Db, Events, Jobs } from "../../../store/index.ts";
import { RECORDS_CHANGED } from "../../records/change.ts";
import { allRecords } from "../../records/list-table.ts";
import type { DnsRecord, RecordZone } from "../../records/types.ts";
import { ZONE_DELETED } from "../../zone-accounts.ts";
import { zoneById } from "../../zones-table.ts";
import type { DnsProvider } from "../provider/port.ts";
import { isRecordSetType } from "../provider/read-record-set.ts";
import { USERS, planPush, type PushStep } from "./plan.ts";
import {
  beginPush,
  deletePushedRecords,
  endPush,
  deletePushState,
  storePushedRecords,
  pushedRecords,
  findPushState,
  zonesToPush,
  deletedZonesToPush,
  type PushProblem,
} from "./push-table.ts";
import type { PushTables } from "./tables.ts";

interface PusherOptions {
  db: Db;
  jobs: Jobs;
  events: Events;
  clock: Clock;
  log: Log;
  /** The target for the zones' records: "rfc2136" or "powerdns". */
  provider: DnsProvider;
  /** True for names of zones that are managed manually. */
  isManual?(name: string): boolean;
  /** Interval for polling zones that sent no notification. Default one minute. */
  pollMs?: number;
}

interface PushStatus {
  /** True if the other server has all records of the zone. */
  done: boolean;
  problems: PushProblem[];
}

/** Pushes the records of every zone to its authoritative server, even if either side restarts. */
export interface Pusher {
  status(zone: string): Promise<PushStatus>;
  close(): Promise<void>;
}

const KIND = "dns.push";
const POLL_INTERVAL_MS = 60_000;
const BATCH_SIZE = 500;
const LEASE_MS = 60_000;
/** Errors that concern the server, not individual records. */
const SERVER_ERRORS = new Set(["unreachable", "badReply", "badKey", "notServed"]);
/** A failure may last for weeks: retry every ten minutes, and immediately after the next change. */
const ATTEMPTS = 1_000_000;
const backoff = (attempt: number) =>
  Math.min(600_000, 1000 * 2 ** Math.min(attempt - 1, 20)) * (0.8 + 0.4 * Math.random());

/**
 * The zone is the source of truth. Pushed records are written down before they are pushed, and each push compares the
 * two. So every committed change arrives, and no pushed record is left behind.
 */
export function createPusher({
  db,
  jobs,
  events,
  clock,
  log,
  provider,
  isManual = () => false,
  pollMs = POLL_INTERVAL_MS,
}: PusherOptions): Pusher {
  const tables = db.tables<PushTables>();
  const find = zoneById(db.tables());
  const closeAborter = new AbortController();

  const announce = (zone: string) => jobs.enqueue(KIND, { zone }, { key: zone, attempts: ATTEMPTS });

  async function poll() {
    for (let after = ""; ;) {
      const zonesBehind = await zonesToPush(tables, after, BATCH_SIZE);
      for (const zone of zonesBehind) await announce(zone);
      if (zonesBehind.length < BATCH_SIZE) break;
      after = zonesBehind.at(-1)!;
    }
    for (const zone of await deletedZonesToPush(tables, BATCH_SIZE)) await announce(zone);
  }

  async function push(id: string, signal: AbortSignal) {
    const zone = await find(id);
    const before = await findPushState(tables, id);
    if (zone === undefined ? before === undefined : zone.type !== "full" || isManual(zone.name)) return;
    const about: RecordZone = zone ?? { id, account: before!.account, name: before!.name };
    // Stores the serial first: a change during the push triggers another push.
    if (zone !== undefined) await beginPush(tables, about, zone.serial, clock.now());
    const problems: PushProblem[] = [];
    const wanted = zone === undefined ? [] : await wantedOf(id, problems);
    const failures: unknown[] = [];
    for (const step of planPush(wanted, await pushedRecords(tables, id))) {
      signal.throwIfAborted();
      await apply(about, step, signal).catch((err: unknown) => {
        if (!(err instanceof UserError)) throw err;
        failures.push(err);
        problems.push({
          owner: step.owner,
          code: err.kind,
          message: err.fix === undefined ? err.message : `${err.message} ${err.fix}`,
        });
      });
      // The remaining steps would fail the same way.
      if (problems.some(({ code }) => SERVER_ERRORS.has(code))) break;
    }
    if (failures.length === 0 && zone === undefined) return deletePushState(tables, id);
    await endPush(tables, id, { problems, ...(failures.length === 0 && { pushed: zone!.serial }) }, clock.now());
    if (failures.length > 0) throw failures[0];
  }

  async function wantedOf(zone: string, problems: PushProblem[]): Promise<DnsRecord[]> {
    const wanted: DnsRecord[] = [];
    const unsupported = new Set<string>();
    for await (const records of allRecords(db.tables(), zone)) {
      for (const record of records) {
        if (provider.kind === "rfc2136" && !isRecordSetType(record.type)) unsupported.add(record.type);
        else wanted.push(record);
      }
    }
    if (unsupported.size > 0)
      problems.push({
        owner: USERS,
        code: "unsupportedType",
        message: `Records of type ${[...unsupported].join(", ")} cannot be pushed to the external DNS server. Create them there.`,
      });
    return wanted;
  }

  async function apply(zone: RecordZone, step: PushStep, signal: AbortSignal) {
    await db.transaction<PushTables, void>((tx) => storePushedRecords(tx, zone.id, step.owner, step.add, false));
    try {
      await provider.apply(
        zone,
        {
          owner: step.owner,
          mustBeAbsent: step.mustBeAbsent,
          add: [...step.add, ...step.existing].map(request),
          remove: step.remove.map(request),
        },
        signal,
      );
    } catch (err) {
      // The error means that nothing was changed, so the pending records are not ours. If there was no response, they
      // may be.
      if (err instanceof UserError && err.kind !== "unreachable" && err.kind !== "badReply")
        await db.transaction<PushTables, void>((tx) => deletePushedRecords(tx, zone.id, step.add));
      throw err;
    }
    await db.transaction<PushTables, void>(async (tx) => {
      await deletePushedRecords(tx, zone.id, step.remove);
      await storePushedRecords(tx, zone.id, step.owner, step.add, true);
    });
    log.info(
      { zone: zone.name, owner: step.owner, added: step.add.length, removed: step.remove.length, to: provider.kind },
      "dns: records pushed",
    );
  }

  const logFailure = (err: unknown) => log.error({ err }, "dns: failed to list zones to push, will retry");
  const unsubscribe = [RECORDS_CHANGED, ZONE_DELETED].map((topic) =>
    events.subscribe(topic, (zone) => void (zone === "" ? poll() : announce(zone)).catch(logFailure)),
  );
  // Two concurrent pushes of one zone would treat each other's records as foreign.
  const worker = jobs.work(
    KIND,
    { concurrency: 4, leaseMs: LEASE_MS, backoff, onePerKey: true },
    async ({ payload }, { signal }) => push((payload as { zone: string }).zone, signal),
  );
  void (async () => {
    for (;;) {
      await poll().catch(logFailure);
      await clock.sleep(pollMs, closeAborter.signal);
    }
  })().catch(() => {});

  return {
    async status(id) {
      const [zone, state] = [await find(id), await findPushState(tables, id)];
      return {
        done: state !== undefined && zone !== undefined && state.pushed === zone.serial && state.problems.length === 0,
        problems: state?.problems ?? [],
      };
    },
    async close() {
      closeAborter.abort();
      for (const end of unsubscribe) end();
      await worker.stop();
    },
  };
}

const request = ({
  name,
  type,
  content,
  priority,
  ttl,
}: {
  name: string;
  type: string;
  content: string;
  priority: number | null;
  ttl: number;
}) => ({ type, name: `${name}.`, content, ttl, ...(priority !== null && { priority }) });
