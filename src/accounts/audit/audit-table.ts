import { sql, type SelectQueryBuilder } from "kysely";
import type { Db, Migration } from "../../store/index.ts";
import { ipKey, ipKeyRange } from "./ip-key.ts";
import type { AuditEntry, AuditInterface, AuditQuery } from "./types.ts";

interface AuditRow {
  id: string;
  /** An account or a user. A change of a user has one row for the user and one for each of the user's accounts. */
  owner: string;
  scope: AuditEntry["scope"];
  /** Epoch milliseconds. */
  at: number;
  action: string;
  operation: string;
  /** The user in whose log the entry is listed. Empty: none. */
  user_id: string;
  /** Empty: the server itself. */
  actor_id: string;
  /** The email address in lower case. */
  actor_key: string;
  interface: AuditInterface;
  credential: string | null;
  /** See `ipKey`. */
  ip_key: string;
  zone_id: string | null;
  zone_name: string | null;
  resource_type: string;
  /** Empty: the resource has none. */
  resource_id: string;
  /** JSON: see StoredDetails. */
  details: string;
  /** JSON. */
  before_json: string | null;
  after_json: string | null;
}

/** Columns that no query filters by. */
interface StoredDetails {
  email?: string;
  ip?: string;
  userAgent?: string;
  summary: string;
  request?: AuditEntry["request"];
}

interface AuditTables {
  audit_log: AuditRow;
}

export const auditMigrations: Migration[] = [
  {
    name: "accounts-audit-001",
    async up(db, types) {
      const key = sql.raw(types.keyText);
      await db.schema
        .createTable("audit_log")
        .addColumn("id", key, (column) => column.notNull())
        .addColumn("owner", key, (column) => column.notNull())
        .addColumn("scope", key, (column) => column.notNull())
        .addColumn("at", "bigint", (column) => column.notNull())
        .addColumn("action", key, (column) => column.notNull())
        .addColumn("operation", key, (column) => column.notNull())
        .addColumn("user_id", key, (column) => column.notNull())
        .addColumn("actor_id", key, (column) => column.notNull())
        .addColumn("actor_key", key, (column) => column.notNull())
        .addColumn("interface", key, (column) => column.notNull())
        .addColumn("credential", key)
        .addColumn("ip_key", key, (column) => column.notNull())
        .addColumn("zone_id", key)
        .addColumn("zone_name", key)
        .addColumn("resource_type", key, (column) => column.notNull())
        .addColumn("resource_id", key, (column) => column.notNull())
        .addColumn("details", "text", (column) => column.notNull())
        .addColumn("before_json", "text")
        .addColumn("after_json", "text")
        .addPrimaryKeyConstraint("audit_log_key", ["owner", "id"])
        .execute();
      const index = (name: string, columns: string[]) =>
        db.schema.createIndex(`audit_log_${name}`).on("audit_log").columns(columns).execute();
      await index("at", ["at"]);
      await index("owner_at", ["owner", "at", "id"]);
      await index("owner_actor", ["owner", "actor_key", "at", "id"]);
      await index("owner_operation", ["owner", "operation", "at", "id"]);
      await index("owner_resource", ["owner", "resource_id", "at", "id"]);
      await index("user", ["user_id", "at", "id"]);
    },
  },
];

/** The log of an account, or of a user: the user's own changes, and those that the user made in `accounts`. */
export type AuditScope = { account: string } | { user: string; accounts: readonly string[] };

/** Maximum number of entries that a count reads: SQLite blocks everything else during a read. */
const MAX_COUNTED = 10_000;

export function createAuditTable(db: Db) {
  const tables = db.tables<AuditTables>();

  return {
    /** Inserts one entry with its copies for other owners; resolves when they are on disk. */
    async insert(entry: AuditEntry, copies: readonly string[]): Promise<void> {
      const row = rowOf(entry);
      const rows = [
        row,
        // The accounts of a user list a change without its values, which may name other accounts.
        ...copies.map((owner) => ({ ...row, owner, before_json: null, after_json: null })),
      ];
      await db.write(tables.insertInto("audit_log").values(rows));
    },

    async list(
      scope: AuditScope,
      query: AuditQuery,
      { limit, offset }: { limit: number; offset: number },
    ): Promise<AuditEntry[]> {
      const order = query.direction ?? "desc";
      const rows = await db.read(
        restrict(tables.selectFrom("audit_log").selectAll(), scope, query)
          .orderBy("at", order)
          .orderBy("id", order)
          .limit(limit)
          .offset(offset),
      );
      return rows.map(entryOf);
    },

    /** At most MAX_COUNTED. */
    async count(scope: AuditScope, query: AuditQuery): Promise<number> {
      const matching = restrict(tables.selectFrom("audit_log").select("id"), scope, query)
        .limit(MAX_COUNTED)
        .as("matching");
      const [row] = await db.read(tables.selectFrom(matching).select(sql<number>`count(*)`.as("total")));
      return Number(row!.total);
    },

    /** Resolves with the time of the entry that follows the newest `kept` ones. */
    async timeAfter(kept: number): Promise<number | undefined> {
      const [row] = await db.read(
        tables.selectFrom("audit_log").select("at").orderBy("at", "desc").limit(1).offset(kept),
      );
      return row?.at;
    },

    /** Deletes up to `limit` of the oldest entries before `time`; returns how many. */
    async deleteBefore(time: number, limit: number): Promise<number> {
      const { affected } = await db.write(
        tables
          .deleteFrom("audit_log")
          .where(({ eb, refTuple, selectFrom }) =>
            eb(
              refTuple("owner", "id"),
              "in",
              selectFrom("audit_log")
                .select(["owner", "id"])
                .where("at", "<", time)
                .orderBy("at")
                .limit(limit)
                .$asTuple("owner", "id"),
            ),
          ),
      );
      return affected;
    },
  };
}

type Select<Row> = SelectQueryBuilder<AuditTables, "audit_log", Row>;

function restrict<Row>(query: Select<Row>, scope: AuditScope, filter: AuditQuery): Select<Row> {
  let some = "account" in scope ? query.where("owner", "=", scope.account) : restrictToUser(query, scope);
  const { id, action, operation, resourceType, resourceId, actorEmail, actorIp, credential, zoneName } = filter;
  if (filter.hideUserLogs === true) some = some.where("scope", "=", "account");
  if (id !== undefined) some = some.where("id", "=", id);
  if (action !== undefined) some = some.where("action", "=", action);
  if (operation !== undefined) some = some.where("operation", "=", operation);
  if (resourceType !== undefined) some = some.where("resource_type", "=", resourceType);
  if (resourceId !== undefined) some = some.where("resource_id", "=", resourceId);
  if (actorEmail !== undefined) some = some.where("actor_key", "=", actorEmail.toLowerCase());
  if (credential !== undefined) some = some.where("credential", "=", credential);
  if (zoneName !== undefined) some = some.where("zone_name", "=", zoneName.toLowerCase());
  if (filter.since !== undefined) some = some.where("at", ">=", filter.since);
  if (filter.until !== undefined) some = some.where("at", "<", filter.until);
  const keys = actorIp === undefined ? undefined : ipKeyRange(actorIp);
  if (keys !== undefined) some = some.where("ip_key", ">=", keys.first).where("ip_key", "<=", keys.last);
  return some;
}

/** The copies of a user's own changes in the accounts are left out. */
const restrictToUser = <Row>(query: Select<Row>, { user, accounts }: { user: string; accounts: readonly string[] }) =>
  query.where("user_id", "=", user).where(({ eb, or, and }) => {
    const own = eb("owner", "=", user);
    return accounts.length === 0 ? own : or([own, and([eb("scope", "=", "account"), eb("owner", "in", accounts)])]);
  });

/** PostgreSQL rejects U+0000 in text; in JSON it is escaped. */
const storable = (text: string): string => text.replaceAll("\0", "");

function rowOf(entry: AuditEntry): AuditRow {
  const { actor, ip, userAgent, summary, request, zone, resource } = entry;
  const details: StoredDetails = {
    summary,
    ...(actor && { email: actor.email }),
    ...(ip !== undefined && { ip }),
    ...(userAgent !== undefined && { userAgent }),
    ...(request && { request }),
  };
  return {
    id: entry.id,
    owner: entry.owner,
    scope: entry.scope,
    at: entry.at,
    action: entry.action,
    operation: entry.operation,
    user_id: entry.user ?? "",
    actor_id: actor?.id ?? "",
    actor_key: storable(actor?.email.toLowerCase() ?? ""),
    interface: entry.interface,
    credential: entry.credential ?? null,
    ip_key: ipKey(ip),
    zone_id: zone?.id ?? null,
    zone_name: zone?.name?.toLowerCase() ?? null,
    resource_type: resource.type,
    resource_id: storable(resource.id ?? ""),
    details: JSON.stringify(details),
    before_json: entry.before ?? null,
    after_json: entry.after ?? null,
  };
}

function entryOf(row: AuditRow): AuditEntry {
  const details = JSON.parse(row.details) as StoredDetails;
  return {
    id: row.id,
    at: row.at,
    owner: row.owner,
    scope: row.scope,
    action: row.action,
    operation: row.operation,
    summary: details.summary,
    user: row.user_id === "" ? undefined : row.user_id,
    actor: row.actor_id === "" ? undefined : { id: row.actor_id, email: details.email ?? "" },
    interface: row.interface,
    credential: row.credential ?? undefined,
    ip: details.ip,
    userAgent: details.userAgent,
    request: details.request,
    zone: row.zone_id === null ? undefined : { id: row.zone_id, name: row.zone_name ?? undefined },
    resource: { type: row.resource_type, id: row.resource_id === "" ? undefined : row.resource_id },
    before: row.before_json ?? undefined,
    after: row.after_json ?? undefined,
  };
}
