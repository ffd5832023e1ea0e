import { offsetOf, type Clock, type Ids, type Log, type Page, type PageRequest } from "../../kernel/index.ts";
import { deleteInBatches, type Db } from "../../store/index.ts";
import { rolesOfUser } from "../accounts-table.ts";
import { accountErrors } from "../errors.ts";
import type { AccountTables } from "../tables.ts";
import { ipKeyRange } from "./ip-key.ts";
import { createAuditTable, type AuditScope } from "./audit-table.ts";
import { boundedJson } from "./bounded-json.ts";
import type { AuditEntry, AuditEvent, AuditQuery } from "./types.ts";

/** Changes to the resources of accounts and users. Entries are never changed, and deleted only by `sweep`. */
export interface AuditLog {
  /**
   * Stores a completed change; resolves when it is on disk. Never rejects, because the change has been made: if the
   * database fails, the entry is written to the server's log instead.
   */
  record(event: AuditEvent): Promise<void>;
  /** `total` counts at most 10,000 entries. Throws badAuditFilter. */
  list(scope: AuditScope, query: AuditQuery, page: PageRequest): Promise<Page<AuditEntry>>;
  /** Deletes entries past the retention period, and the oldest ones beyond the maximum number; returns how many. */
  sweep(): Promise<number>;
}

interface AuditLogDeps {
  db: Db;
  clock: Clock;
  ids: Pick<Ids, "hex">;
  log: Log;
  /** Retention period. */
  days: number;
  /** Maximum number of entries. Default one million. */
  maxEntries?: number;
}

const DAY_MS = 24 * 3_600_000;
/** Maximum size of `before` and of `after`. */
const MAX_VALUE_BYTES = 16 * 1024;
const MAX_TEXT = 512;

export function createAuditLog({ db, clock, ids, log, days, maxEntries = 1_000_000 }: AuditLogDeps): AuditLog {
  const table = createAuditTable(db);
  const accountTables = db.tables<AccountTables>();

  const nextId = createOrderedIds(ids);

  function entryOf(event: AuditEvent): AuditEntry {
    const user = event.user ?? event.actor?.id;
    const at = clock.now();
    return {
      id: nextId(at),
      at,
      owner: event.account ?? user ?? "",
      scope: event.account === undefined ? "user" : "account",
      action: event.action,
      operation: event.operation,
      summary: event.summary,
      actor: event.actor && { id: event.actor.id, email: event.actor.email },
      user,
      interface: event.interface,
      credential: event.credential,
      ip: event.ip,
      userAgent: event.userAgent?.slice(0, MAX_TEXT),
      request: event.request && {
        ...event.request,
        path: event.request.path.slice(0, MAX_TEXT),
        params: Object.fromEntries(
          Object.entries(event.request.params).map(([name, value]) => [name, value.slice(0, MAX_TEXT)]),
        ),
      },
      zone: event.zone,
      resource: { type: event.resource.type, id: event.resource.id?.slice(0, MAX_TEXT) },
      before: boundedJson(event.before, MAX_VALUE_BYTES),
      after: boundedJson(event.after, MAX_VALUE_BYTES),
    };
  }

  return {
    async record(event) {
      const entry = entryOf(event);
      try {
        const copies =
          entry.scope === "user" && entry.user !== undefined
            ? [...(await rolesOfUser(accountTables, entry.user)).keys()]
            : [];
        await table.insert(entry, copies);
      } catch (err) {
        log.error({ err, entry }, "audit: failed to store an entry");
      }
    },
    async list(scope, query, page) {
      if (query.actorIp !== undefined && ipKeyRange(query.actorIp) === undefined)
        throw accountErrors.badAuditFilter({
          field: "actor.ip",
          reason: `${JSON.stringify(query.actorIp)} is neither an IP address nor a range in CIDR notation`,
        });
      const [items, total] = await Promise.all([
        table.list(scope, query, { limit: page.perPage, offset: offsetOf(page) }),
        table.count(scope, query),
      ]);
      return { items, total };
    },
    async sweep() {
      const expired = clock.now() - days * DAY_MS;
      const excess = await table.timeAfter(maxEntries);
      const before = Math.max(expired, excess === undefined ? -Infinity : excess + 1);
      return deleteInBatches((limit) => table.deleteBefore(before, limit));
    },
  };
}

/** Ids that sort by time, and within a millisecond in the order of this process. */
function createOrderedIds(ids: Pick<Ids, "hex">): (at: number) => string {
  let last = { at: 0, count: 0 };
  return (at) => {
    last = at === last.at ? { at, count: Math.min(last.count + 1, 0xffff) } : { at, count: 0 };
    return `${hexOf(at, 12)}${hexOf(last.count, 4)}${ids.hex().slice(16)}`;
  };
}

const hexOf = (value: number, digits: number): string => value.toString(16).padStart(digits, "0");
