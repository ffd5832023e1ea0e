import type { Clock, Ids } from "../../kernel/index.ts";
import { DnsSyntaxError, normalizeDomain } from "../../protocol/dns/index.ts";
import { isUniqueViolation, type Db } from "../../store/index.ts";
import { recipientKey, readRecipient } from "../recipient.ts";
import { createBulk } from "./bulk.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import { suppressionErrors } from "./errors.ts";
import { isReadOnly, showSuppression } from "./shown.ts";
import {
  countComplaints,
  deleteSuppressions,
  insertSuppressions,
  listSuppressions,
  suppressedAddresses,
  suppressionById,
  suppressionsOf,
  sweepSuppressions,
  updateSuppression,
  type Position,
  type SuppressionExecutor,
  type SuppressionFilter,
  type SuppressionRow,
  type SuppressionTables,
} from "./suppressions-table.ts";
import type { Suppression, SuppressionQuery, SuppressionReason, SuppressionRequest, Suppressions } from "./types.ts";

interface SuppressionsDeps {
  db: Db;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "uuid">;
}

const MAX_NOTE_LENGTH = 1000;
const SWEEP_BATCH_SIZE = 500;
/** Higher values are stronger evidence about the mailbox. */
const REASON_GRAVITY: Record<SuppressionReason, number> = {
  soft_bounce: 0,
  hard_bounce: 1,
  manual: 2,
  complaint: 3,
  policy: 4,
};

export function createSuppressions({ db, clock, ids }: SuppressionsDeps): Suppressions {
  const tables = db.tables<SuppressionTables>();
  const isExpired = ({ expires_at: at }: SuppressionRow) => at !== null && at <= clock.now();

  async function requireRow(from: SuppressionExecutor, account: string, id: string): Promise<SuppressionRow> {
    const row = await suppressionById(from, account, id);
    if (row === undefined || isExpired(row)) throw suppressionErrors.noSuppression();
    return row;
  }

  async function requireOwnRow(tx: SuppressionExecutor, account: string, id: string): Promise<SuppressionRow> {
    const row = await requireRow(tx, account, id);
    if (isReadOnly(row)) throw suppressionErrors.readOnlySuppression();
    return row;
  }

  function checkExpiry(expiresAt: number | null): number | null {
    if (expiresAt !== null && !(expiresAt > clock.now())) throw suppressionErrors.badExpiry();
    return expiresAt;
  }

  /** Throws if the request is invalid. */
  function rowOf(account: string, { email: given, expiresAt = null, note, scope }: SuppressionRequest): SuppressionRow {
    const email = given.trim();
    const address = addressOf(email);
    if (address === undefined)
      throw suppressionErrors.badSuppressionAddress({ address: JSON.stringify(email.slice(0, 100)) });
    const now = clock.now();
    return {
      id: ids.uuid(),
      account_id: account,
      address,
      email,
      scope: scope?.type === "sending_domain" ? domainOf(scope.value) : "",
      reason: "manual",
      note: noteOf(note),
      origin: null,
      noted_at: now,
      created_at: now,
      expires_at: checkExpiry(expiresAt),
    };
  }

  /** Inserts a row, replacing an expired one. Returns the existing row if there is one. */
  async function storeRow(tx: SuppressionExecutor, row: SuppressionRow): Promise<SuppressionRow> {
    const existingRow = (await suppressionsOf(tx, row.account_id, [row.address])).find(
      ({ scope }) => scope === row.scope,
    );
    if (existingRow !== undefined && !isExpired(existingRow)) return existingRow;
    if (existingRow !== undefined) await deleteSuppressions(tx, [existingRow.id]);
    await insertSuppressions(tx, [row]);
    return row;
  }

  /** If two requests insert the same row concurrently, the second run finds the row of the other request. */
  async function retryOnce<Result>(work: (tx: SuppressionExecutor) => Promise<Result>): Promise<Result> {
    try {
      return await db.transaction<SuppressionTables, Result>(work);
    } catch (err) {
      if (!isUniqueViolation(err)) throw err;
      return db.transaction<SuppressionTables, Result>(work);
    }
  }

  return {
    async list(account, query, { cursor: given, perPage }) {
      const { filter, after } = given === undefined ? { filter: filterOf(query), after: undefined } : readCursor(given);
      const rows = await listSuppressions(tables, account, filter, { after, limit: perPage + 1, now: clock.now() });
      const pageRows = rows.slice(0, perPage);
      const last = rows.length > perPage ? pageRows.at(-1) : undefined;
      const positionOf = (row: SuppressionRow): Position =>
        filter.prefix === undefined
          ? { createdAt: row.created_at, id: row.id }
          : { address: row.address, scope: row.scope };
      return {
        items: pageRows.map(showSuppression),
        perPage,
        next: last === undefined ? null : writeCursor({ filter, after: positionOf(last) }),
      };
    },
    get: async (account, id) => showSuppression(await requireRow(tables, account, id)),
    async create(account, request) {
      const row = rowOf(account, request);
      const storedRow = await retryOnce((tx) => storeRow(tx, row));
      if (isReadOnly(storedRow)) throw suppressionErrors.readOnlySuppression();
      return showSuppression(storedRow);
    },
    async update(account, id, { expiresAt, note }) {
      const change = {
        ...(expiresAt !== undefined && { expires_at: checkExpiry(expiresAt) }),
        ...(note !== undefined && { note: noteOf(note) }),
      };
      return db.transaction<SuppressionTables, Suppression>(async (tx) => {
        const before = await requireOwnRow(tx, account, id);
        if (Object.keys(change).length > 0) await updateSuppression(tx, id, change);
        return showSuppression({ ...before, ...change });
      });
    },
    delete: (account, id) =>
      db.transaction<SuppressionTables, Suppression>(async (tx) => {
        const before = await requireOwnRow(tx, account, id);
        await deleteSuppressions(tx, [id]);
        return showSuppression(before);
      }),
    bulk: createBulk({ clock, rowOf, isExpired, transaction: retryOnce }),
    async add({ account, email, reason, expiresAt, domain, note }) {
      const address = addressOf(email);
      if (address === undefined) return;
      const now = clock.now();
      const until = expiresAt === null ? null : expiresAt.getTime();
      const provenance = {
        note: note === undefined ? null : note.slice(0, MAX_NOTE_LENGTH),
        origin: domain ?? null,
        noted_at: now,
      };
      await retryOnce(async (tx) => {
        const existingRow = (await suppressionsOf(tx, account, [address])).find(({ scope }) => scope === "");
        if (existingRow === undefined || isExpired(existingRow))
          return storeRow(tx, {
            id: ids.uuid(),
            account_id: account,
            address,
            email,
            scope: "",
            reason,
            created_at: now,
            expires_at: until,
            ...provenance,
          });
        const isGraver = REASON_GRAVITY[reason] > REASON_GRAVITY[existingRow.reason];
        return updateSuppression(tx, existingRow.id, {
          expires_at:
            until === null || existingRow.expires_at === null ? null : Math.max(until, existingRow.expires_at),
          ...(isGraver && { reason }),
          // Keeps a note written by a user.
          ...(existingRow.reason !== "manual" && REASON_GRAVITY[reason] >= REASON_GRAVITY[existingRow.reason]
            ? provenance
            : { origin: provenance.origin ?? existingRow.origin, noted_at: now }),
        });
      });
    },
    async findSuppressed(account, domain, addresses) {
      const keys = new Map(addresses.map((address) => [address, addressOf(address)]));
      const knownAddresses = [...new Set(keys.values())].filter((key) => key !== undefined);
      if (knownAddresses.length === 0) return [];
      const suppressedKeys = new Set(await suppressedAddresses(tables, account, knownAddresses, domain, clock.now()));
      return addresses.filter((address) => suppressedKeys.has(keys.get(address) ?? ""));
    },
    complaints: (account, domain, from, to) => countComplaints(tables, account, domain, from, to),
    sweep: () =>
      db.transaction<SuppressionTables, number>((tx) => sweepSuppressions(tx, clock.now(), SWEEP_BATCH_SIZE)),
  };
}

function addressOf(email: string): string | undefined {
  const parsedAddress = readRecipient(email);
  return parsedAddress === undefined || parsedAddress.domain === "" || parsedAddress.domain.startsWith("[")
    ? undefined
    : recipientKey(parsedAddress);
}

function domainOf(value: string): string {
  try {
    return normalizeDomain(value);
  } catch (err) {
    if (err instanceof DnsSyntaxError)
      throw suppressionErrors.badScope({ value: JSON.stringify(value.slice(0, 100)) }, { cause: err });
    throw err;
  }
}

function noteOf(note: string | undefined): string | null {
  if (note === undefined || note === "") return null;
  if (note.length > MAX_NOTE_LENGTH) throw suppressionErrors.noteTooLong({ limit: MAX_NOTE_LENGTH });
  // PostgreSQL cannot store U+0000.
  return note.replaceAll("\0", "");
}

/** Throws badSearch, badSuppressionAddress, badScope. */
function filterOf({ email, search, reason, scopeType, scopeValue }: SuppressionQuery): SuppressionFilter {
  const filter: SuppressionFilter = {
    reason,
    ...(scopeType === "account" && { scope: "" }),
    ...(scopeType === "sending_domain" && scopeValue === undefined && { scoped: true }),
  };
  if (scopeValue !== undefined && scopeType !== "account") filter.scope = domainOf(scopeValue);
  if (email !== undefined) {
    filter.address = addressOf(email);
    if (filter.address === undefined)
      throw suppressionErrors.badSuppressionAddress({ address: JSON.stringify(email.slice(0, 100)) });
  }
  if (search === undefined) return filter;
  const user = search.endsWith("@") ? addressOf(`${search}a.example`) : undefined;
  const address = search.endsWith("@") ? undefined : addressOf(search);
  if (user === undefined && address === undefined)
    throw suppressionErrors.badSearch({ search: JSON.stringify(search.slice(0, 100)) });
  if (user !== undefined) return { ...filter, prefix: user.slice(0, user.lastIndexOf("@") + 1) };
  // Two different addresses can match nothing.
  return filter.address !== undefined && filter.address !== address
    ? { ...filter, address: "" }
    : { ...filter, address };
}
