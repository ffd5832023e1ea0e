import { createHash } from "node:crypto";
import { type Clock, type Log, messageOf } from "../../../kernel/index.ts";
import { recordDraft } from "../../records/change.ts";
import type { RecordRequest } from "../../records/types.ts";
import { recordKey } from "../provider/change.ts";
import type { ProviderRecord } from "../provider/port.ts";
import type { RecordResolver } from "./record-resolver.ts";
import { createVerifier, type Verification } from "./verifier.ts";

/** A record that is expected to exist; its name is absolute. */
export type ExpectedRecord = Pick<RecordRequest, "type" | "name" | "content" | "priority" | "ttl">;

export interface RecordWatch {
  /**
   * Returns the records of a name that the last check did not find; undefined before the first check. Returned from
   * memory; checks run in the background.
   */
  missing<Record extends ExpectedRecord>(name: string, expected: readonly Record[]): Promise<Record[] | undefined>;
  /** Runs a check now. Rejects only for invalid records. */
  check(name: string, expected: readonly ExpectedRecord[]): Promise<Verification>;
  close(): void;
}

interface RecordWatchOptions {
  resolvers: readonly RecordResolver[];
  clock: Clock;
  log: Log;
}

interface Entry {
  name: string;
  expected: readonly ExpectedRecord[];
  /** Time at which the set was last queried. */
  requestedAt: number;
  /** Time of the last check; undefined before the first one. */
  checkedAt: number | undefined;
  /** Keys of the records that the last check did not find. */
  missing: ReadonlySet<string>;
  checking: boolean;
}

/** Maximum number of watched sets; the least recently queried one is evicted. */
const MAX_WATCHED_ENTRIES = 5000;
/** Sets that have not been queried for this long are no longer checked. */
const UNUSED_MS = 3_600_000;
const MAX_CONCURRENT = 4;
/** Missing records are checked more often, because a user is waiting for them; existing ones rarely change. */
const [MISSING_INTERVAL_MS, PRESENT_INTERVAL_MS] = [30_000, 600_000];
const ROUND_INTERVAL_MS = 60_000;

/** Watches, in public DNS, the records that names need. */
export function createRecordWatch({ resolvers, clock, log }: RecordWatchOptions): RecordWatch {
  const verifier = createVerifier();
  const watched = new Map<string, Entry>();
  const dueEntries: Entry[] = [];
  const closeAborter = new AbortController();
  let runningCount = 0;

  async function checkEntry(entry: Entry) {
    try {
      const { records } = await verifier.verify(
        entry.expected.map((expectedRecord) => toProviderRecord(entry.name, expectedRecord)),
        resolvers,
      );
      const before = entry.missing;
      // A failed lookup keeps the previous result.
      entry.missing = new Set(
        records.flatMap(({ record, state }) =>
          (state === "failed" ? before.has(recordKey(record)) : state !== "right") ? [recordKey(record)] : [],
        ),
      );
      entry.checkedAt = clock.now();
      if (entry.missing.size !== before.size)
        log.info({ name: entry.name, missing: entry.missing.size, of: records.length }, "dns: records checked");
    } catch (err) {
      entry.checkedAt = clock.now();
      log.warn({ name: entry.name, reason: messageOf(err) }, "dns: failed to check records");
    }
  }

  function schedule(entry: Entry) {
    if (entry.checking || closeAborter.signal.aborted) return;
    entry.checking = true;
    dueEntries.push(entry);
    if (runningCount < MAX_CONCURRENT) void work();
  }

  async function work() {
    runningCount++;
    for (
      let entry = dueEntries.shift();
      entry !== undefined && !closeAborter.signal.aborted;
      entry = dueEntries.shift()
    ) {
      await checkEntry(entry);
      entry.checking = false;
    }
    runningCount--;
  }

  const isDue = ({ checkedAt, missing }: Entry) =>
    checkedAt === undefined ||
    clock.now() - checkedAt >= (missing.size > 0 ? MISSING_INTERVAL_MS : PRESENT_INTERVAL_MS);

  void (async () => {
    for (;;) {
      await clock.sleep(ROUND_INTERVAL_MS, closeAborter.signal);
      for (const [key, entry] of watched) {
        if (clock.now() - entry.requestedAt > UNUSED_MS) watched.delete(key);
        else if (isDue(entry)) schedule(entry);
      }
    }
  })().catch(() => {});

  return {
    async missing(name, expected) {
      // A name may need several record sets for different purposes.
      const key = `${name} ${digestOf(expected)}`;
      const entry = watched.get(key) ?? {
        name,
        expected,
        requestedAt: 0,
        checkedAt: undefined,
        missing: new Set<string>(),
        checking: false,
      };
      entry.requestedAt = clock.now();
      watched.delete(key);
      if (watched.size >= MAX_WATCHED_ENTRIES) watched.delete(watched.keys().next().value!);
      watched.set(key, entry);
      if (isDue(entry)) schedule(entry);
      return entry.checkedAt === undefined
        ? undefined
        : expected.filter((expectedRecord) => entry.missing.has(recordKey(toProviderRecord(name, expectedRecord))));
    },
    check: (name, expected) =>
      verifier.verify(
        expected.map((expectedRecord) => toProviderRecord(name, expectedRecord)),
        resolvers,
      ),
    close: () => closeAborter.abort(),
  };
}

const toProviderRecord = (
  name: string,
  { type, name: expectedName, content, priority, ttl }: ExpectedRecord,
): ProviderRecord =>
  recordDraft(
    { type, name: `${expectedName.replace(/\.$/, "")}.`, content, priority, ttl },
    { id: "", account: "", name },
  );

const digestOf = (expected: readonly ExpectedRecord[]) =>
  createHash("sha256")
    .update(JSON.stringify(expected.map(({ type, name, content, priority }) => [type, name, content, priority])))
    .digest("base64url");
