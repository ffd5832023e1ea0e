import type { Kysely } from "kysely";
import type { Clock, Ids, Log } from "../../kernel/index.ts";
import type { Db } from "../db/port.ts";
import { storeErrors } from "../errors.ts";
import type { Events } from "../events/port.ts";
import { createJobsTable, type JobRow } from "./jobs-table.ts";
import { toJson } from "./json.ts";
import type { EnqueueOptions, Jobs } from "./port.ts";
import { startWorker } from "./worker.ts";

interface JobsDeps {
  db: Db;
  clock: Clock;
  ids: Ids;
  events: Events;
  log: Log;
}

const MAX_PAYLOAD_BYTES = 1024 * 1024;
const DEFAULT_ATTEMPTS = 20;

/**
 * Creates the job queue on either engine: all coordination happens in the database, so any number of processes can
 * share it.
 */
export function createJobs({ db, clock, ids, events, log }: JobsDeps): Jobs {
  const table = createJobsTable(db);
  let count = 0;

  /** Returns 32 hex digits that sort by time, even for jobs created in the same millisecond. */
  function nextId(): string {
    count = (count + 1) % 0x10000;
    return clock.now().toString(16).padStart(12, "0") + count.toString(16).padStart(4, "0") + ids.hex().slice(16);
  }

  /** Throws StoreError badJob. */
  function rowOf(
    kind: string,
    payload: unknown,
    { key, runAt, priority = 0, attempts = DEFAULT_ATTEMPTS }: EnqueueOptions,
  ): JobRow {
    const createBadJobError = (reason: string) =>
      storeErrors.badJob({ kind: JSON.stringify(kind.slice(0, 100)), reason });
    if (!/^[a-z][a-z0-9.-]{0,63}$/.test(kind))
      throw createBadJobError("a kind is 1 to 64 of a-z 0-9 . - and begins with a letter");
    if (key !== undefined && (key.length > 500 || key.includes("\0")))
      throw createBadJobError("its key has more than 500 characters, or a NUL");
    if (!Number.isInteger(priority) || Math.abs(priority) > 1_000_000)
      throw createBadJobError("its priority is not an integer up to a million");
    if (!Number.isInteger(attempts) || attempts < 1 || attempts > 1_000_000)
      throw createBadJobError("attempts is not an integer of at least 1");
    const text = toJson(payload);
    if (text === undefined) throw createBadJobError("its payload is not JSON");
    if (text.length > MAX_PAYLOAD_BYTES)
      throw createBadJobError(
        `its payload has ${text.length} characters of JSON, and the limit is ${MAX_PAYLOAD_BYTES}: move large data to the object store`,
      );
    return {
      id: nextId(),
      kind,
      key: key ?? null,
      payload: text,
      priority,
      run_at: runAt?.getTime() ?? clock.now(),
      status: "waiting",
      attempt: 0,
      max_attempts: attempts,
      token: null,
      lease_until: null,
      progress: null,
      error: null,
      finished_at: null,
    };
  }

  function announce(kind: string, id: string, { runAt }: EnqueueOptions) {
    if (runAt === undefined || runAt.getTime() <= clock.now()) events.publish(topicOf(kind), id);
  }

  return {
    async enqueue(kind, payload, options = {}) {
      const id = await table.insert(rowOf(kind, payload, options));
      announce(kind, id, options);
      return id;
    },

    async enqueueClaimed<Tables>(
      kind: string,
      claim: (tx: Kysely<Tables>) => Promise<unknown[]>,
      options: EnqueueOptions = {},
    ) {
      const rows = await table.insertClaimed<Tables>(async (tx) =>
        (await claim(tx)).map((payload) => rowOf(kind, payload, options)),
      );
      // One notification wakes all workers of a kind, regardless of the number of jobs.
      if (rows.length > 0) announce(kind, rows[0]!.id, options);
      return rows.length;
    },

    work: (kind, options, run) =>
      startWorker(
        { table, clock, ids, log, subscribe: (wake) => events.subscribe(topicOf(kind), wake) },
        kind,
        options,
        run,
      ),

    async get(id) {
      const row = await table.find(id);
      if (!row) return undefined;
      const { kind, status, attempt, progress, error } = row;
      return {
        id,
        kind,
        status,
        attempt,
        progress: progress === null ? undefined : JSON.parse(progress),
        error: error ?? undefined,
      };
    },
  };
}

const topicOf = (kind: string) => `jobs.${kind}`;
