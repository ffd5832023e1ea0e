import { messageOf, type Clock, type Ids, type Log } from "../../kernel/index.ts";
import type { Db, Events } from "../../store/index.ts";
import type { Invocation } from "../runtime/port.ts";
import { tailErrors } from "./errors.ts";
import { compileFilters, parseFilters, type TracePredicate, type TailFilter } from "./filters.ts";
import { TAIL_LIMITS, type TailLimits } from "./limits.ts";
import type { ReaderConnection, Tail, TailReader, Tails } from "./port.ts";
import { createReaderQueue, type ReaderQueue } from "./reader-queue.ts";
import { createRecordBuffer } from "./record-buffer.ts";
import { createReload } from "./reload.ts";
import { createTailsTable, type TailRow } from "./tails-table.ts";
import { lossTrace, traceOf } from "./trace.ts";

export interface TailsOptions {
  db: Db;
  events: Events;
  clock: Clock;
  ids: Ids;
  log: Log;
  /** Checks that the token that started a tail may still read it. Default: always true. */
  mayRead?(tail: { token: string; account: string; createdAt: number }): Promise<boolean>;
  /** 0 to 1, for sampling. */
  random?: () => number;
  limits?: Partial<TailLimits>;
}

/** Topic of the event published when a tail was created, deleted or read. */
const TAILS = "tails";
/** Topic of the event published when records are waiting for the specified tail. */
const RECORDS = "tail-records";
const MAX_RECORDS_PER_READ = 100;
/** A longer record is dropped: workerd limits the logs of one invocation to a quarter of it. */
const MAX_RECORD_BYTES = 1024 * 1024;

interface KnownTail extends TailRow {
  passes: TracePredicate;
}

interface Reader {
  queue: ReaderQueue;
  connection: ReaderConnection;
  /** Fetches waiting records from the table; a call during a run triggers another run. */
  fetchRecords(): Promise<void>;
}

export function createTails({
  db,
  events,
  clock,
  ids,
  log,
  mayRead = async () => true,
  random = Math.random,
  limits: limitOverrides = {},
}: TailsOptions): Tails {
  const limits = { ...TAIL_LIMITS, ...limitOverrides };
  const table = createTailsTable(db);
  /** The readers of this process, by tail. */
  const readers = new Map<string, Reader>();
  /** By account and script. For any other worker, a record costs only one lookup. */
  let tailsByScript = new Map<string, KnownTail[]>();
  let isClosed = false;

  const createLossNotice = (script: string, lostCount: number) =>
    JSON.stringify(lossTrace(script, lostCount, clock.now()));
  const buffer = createRecordBuffer({
    table,
    announce: (tail) => events.publish(RECORDS, tail),
    createLossNotice,
    clock,
    log,
    node: ids.token(6),
    limits,
  });

  const reload = createReload(async () => {
    const knownTails = new Map([...tailsByScript.values()].flat().map((tail) => [tail.id, tail]));
    const rows = isClosed ? [] : await table.all(clock.now());
    tailsByScript = Map.groupBy(
      rows.map((row): KnownTail => ({
        ...row,
        passes: knownTails.get(row.id)?.passes ?? compileFilters(JSON.parse(row.filters) as TailFilter[], random),
      })),
      ({ account, script }) => keyOf(account, script),
    );
    const storedIds = new Set(rows.map(({ id }) => id));
    for (const id of readers.keys()) if (!storedIds.has(id)) end(id);
  });
  const reloadSoon = () =>
    void reload().catch((err: unknown) => log.warn({ err }, `tails: failed to look up tails: ${messageOf(err)}`));

  function end(id: string) {
    const reader = readers.get(id);
    readers.delete(id);
    reader?.connection.close();
  }

  /** Notifies every process, and waits until this one has reloaded. */
  async function publishChange(): Promise<void> {
    events.publish(TAILS, "changed");
    await reload();
  }

  function onInvocation(invocation: Invocation) {
    const { account, script } = invocation;
    const tails = account === undefined ? undefined : tailsByScript.get(keyOf(account, script));
    if (tails === undefined) return;
    const trace = traceOf(invocation);
    let text: string | undefined;
    for (const tail of tails) {
      const reader = readers.get(tail.id);
      const isAwaited = reader !== undefined || clock.now() - tail.seenAt < limits.staleMs;
      if (!isAwaited || tail.expiresAt <= clock.now() || !tail.passes(trace)) continue;
      text ??= recordOf(trace);
      if (reader !== undefined) reader.queue.push(text);
      else buffer.add(tail, text);
    }
  }

  function recordOf(trace: ReturnType<typeof traceOf>): string {
    const text = JSON.stringify(trace);
    return text.length <= MAX_RECORD_BYTES ? text : createLossNotice(trace.scriptName, 1);
  }

  function createReader(row: TailRow, connection: ReaderConnection): Reader {
    const queue = createReaderQueue({
      write: (text) => connection.write(text),
      createLossNotice: (lostCount) => createLossNotice(row.script, lostCount),
      maxRecords: limits.queueRecords,
      maxBytes: limits.queueBytes,
    });
    const fetchRecords = createReload(async () => {
      for (;;) {
        const records = await table.takeRecords(row.id, MAX_RECORDS_PER_READ);
        for (const record of records) queue.push(record);
        if (records.length < MAX_RECORDS_PER_READ || isClosed) return;
      }
    });
    return { queue, connection, fetchRecords };
  }

  const fetchSoon = ({ fetchRecords }: Reader) =>
    void fetchRecords().catch((err: unknown) => log.warn({ err }, `tails: failed to fetch records: ${messageOf(err)}`));

  const isAllowed = async ({ token, account, createdAt }: TailRow) =>
    token === null || mayRead({ token, account, createdAt });

  /**
   * The tail socket requires only the tail id, so the id must not outlive the permissions of the token that created the
   * tail.
   */
  const endUnauthorized = createReload(async () => {
    let endedCount = 0;
    for (const row of isClosed ? [] : await table.all(clock.now()))
      if (!(await isAllowed(row))) endedCount += await table.remove(row.account, row.script, row.id);
    if (endedCount > 0) await publishChange();
  });

  async function sendHeartbeat(): Promise<void> {
    const now = clock.now();
    await endUnauthorized();
    const aliveRows = await table.seen([...readers.keys()], { now, expiresAt: now + limits.ttlMs });
    const expiredCount = await table.removeExpired(now);
    await table.removeRecords(now - limits.bufferMs);
    if (aliveRows.length > 0 || expiredCount > 0) await publishChange();
    else await reload();
  }

  const timer = setInterval(() => {
    sendHeartbeat().catch((err: unknown) =>
      log.warn({ err }, `tails: failed to renew the leases of tails: ${messageOf(err)}`),
    );
  }, limits.heartbeatMs).unref();
  const unsubscribe = [
    events.subscribe(TAILS, reloadSoon),
    events.subscribe(RECORDS, (id) => {
      for (const [tail, reader] of readers) if (id === "" || id === tail) fetchSoon(reader);
    }),
  ];
  reloadSoon();

  return {
    async create(account, script, { filters, clientIp, token = null }) {
      const now = clock.now();
      const row: TailRow = {
        id: ids.hex(),
        account,
        script,
        token,
        filters: JSON.stringify(parseFilters(filters, clientIp)),
        createdAt: now,
        expiresAt: now + limits.ttlMs,
        seenAt: now,
      };
      if (!(await table.add(row, { limit: limits.perScript, now, staleBefore: now - limits.staleMs })))
        throw tailErrors.tooManyTails({ script, limit: limits.perScript });
      await publishChange();
      return tailOf(row);
    },
    list: async (account, script) => (await table.list(account, script, clock.now())).map(tailOf),
    async delete(account, script, id) {
      const removedCount = await table.remove(account, script, id);
      if (removedCount > 0) await publishChange();
      return removedCount > 0;
    },
    async deleteAll(account, script) {
      if ((await table.remove(account, script, undefined)) > 0) await publishChange();
    },
    references: {
      rename: async (tx, change) => ((await table.rename(tx, change)) > 0 ? publishChange : () => {}),
    },
    watch: (runtime) => runtime.onInvocation(onInvocation),
    async read(id, connection): Promise<TailReader | undefined> {
      if (readers.size >= limits.readers) throw tailErrors.tooManyReaders({ limit: limits.readers });
      const now = clock.now();
      const [row] = await table.seen([id], { now, expiresAt: now + limits.ttlMs });
      if (row === undefined || isClosed || !(await isAllowed(row))) return undefined;
      end(id);
      const reader = createReader(row, connection);
      readers.set(id, reader);
      events.publish(TAILS, "read");
      fetchSoon(reader);
      return {
        drained: reader.queue.drained,
        closed() {
          if (readers.get(id) === reader) readers.delete(id);
        },
      };
    },
    recheck: endUnauthorized,
    beat: sendHeartbeat,
    async close() {
      isClosed = true;
      clearInterval(timer);
      for (const stop of unsubscribe) stop();
      for (const id of readers.keys()) end(id);
      await buffer.flush();
      await reload().catch(() => {});
    },
  };
}

const keyOf = (account: string, script: string) => `${account}/${script}`;

const tailOf = ({ id, expiresAt }: TailRow): Tail => ({ id, expiresAt: new Date(expiresAt) });
