import { createHash } from "node:crypto";
import { type Clock, type Log, messageOf } from "../../../kernel/index.ts";
import { draftOf } from "../../records/change.ts";
import type { RecordRequest } from "../../records/types.ts";
import { keyOf } from "../provider/change.ts";
import type { ProviderRecord } from "../provider/port.ts";
import type { RecordResolver } from "./resolver.ts";
import { createVerifier, type Verification } from "./verifier.ts";

/** A record that is expected to exist; its name is absolute. */
export type Wanted = Pick<RecordRequest, "type" | "name" | "content" | "priority" | "ttl">;

export interface RecordWatch {
  /**
   * The records of a name that the last check did not find; undefined before the first check. Returned from memory;
   * checks run in the background.
   */
  missing<Record extends Wanted>(name: string, wanted: readonly Record[]): Promise<Record[] | undefined>;
  /** Runs a check now. Rejects only for invalid records. */
  look(name: string, wanted: readonly Wanted[]): Promise<Verification>;
  close(): void;
}

interface RecordWatchOptions {
  resolvers: readonly RecordResolver[];
  clock: Clock;
  log: Log;
}

interface Entry {
  name: string;
  wanted: readonly Wanted[];
  /** Time at which the set was last queried. */
  asked: number;
  /** Time of the last check; undefined before the first one. */
  at: number | undefined;
  /** Keys of the records that the last check did not find. */
  missing: ReadonlySet<string>;
  looking: boolean;
}

/** Maximum number of watched sets; the least recently queried one is evicted. */
const MAX_WATCHED = 5000;
/** Sets that have not been queried for this long are no longer checked. */
const FORGOTTEN_MS = 3_600_000;
const AT_ONCE = 4;
/** Missing records are checked more often, because a user is waiting for them; existing ones rarely change. */
const [MISSING_MS, THERE_MS] = [30_000, 600_000];
const ROUND_MS = 60_000;

/** Watches records in public DNS that names need. */
export function createRecordWatch({ resolvers, clock, log }: RecordWatchOptions): RecordWatch {
  const verifier = createVerifier();
  const watched = new Map<string, Entry>();
  const due: Entry[] = [];
  const closed = new AbortController();
  let running = 0;

  async function look(entry: Entry) {
    try {
      const { records } = await verifier.verify(
        entry.wanted.map((one) => providerRecord(entry.name, one)),
        resolvers,
      );
      const before = entry.missing;
      // A failed lookup keeps the previous result.
      entry.missing = new Set(
        records.flatMap(({ record, state }) =>
          (state === "failed" ? before.has(keyOf(record)) : state !== "right") ? [keyOf(record)] : [],
        ),
      );
      entry.at = clock.now();
      if (entry.missing.size !== before.size)
        log.info({ name: entry.name, missing: entry.missing.size, of: records.length }, "dns: records checked");
    } catch (err) {
      entry.at = clock.now();
      log.warn({ name: entry.name, reason: messageOf(err) }, "dns: failed to check records");
    }
  }

  function schedule(entry: Entry) {
    if (entry.looking || closed.signal.aborted) return;
    entry.looking = true;
    due.push(entry);
    if (running < AT_ONCE) void work();
  }

  async function work() {
    running++;
    for (let entry = due.shift(); entry !== undefined && !closed.signal.aborted; entry = due.shift()) {
      await look(entry);
      entry.looking = false;
    }
    running--;
  }

  const isDue = ({ at, missing }: Entry) =>
    at === undefined || clock.now() - at >= (missing.size > 0 ? MISSING_MS : THERE_MS);

  void (async () => {
    for (;;) {
      await clock.sleep(ROUND_MS, closed.signal);
      for (const [key, entry] of watched) {
        if (clock.now() - entry.asked > FORGOTTEN_MS) watched.delete(key);
        else if (isDue(entry)) schedule(entry);
      }
    }
  })().catch(() => {});

  return {
    async missing(name, wanted) {
      // A name may need several record sets for different purposes.
      const key = `${name} ${digestOf(wanted)}`;
      const entry = watched.get(key) ?? {
        name,
        wanted,
        asked: 0,
        at: undefined,
        missing: new Set<string>(),
        looking: false,
      };
      entry.asked = clock.now();
      watched.delete(key);
      if (watched.size >= MAX_WATCHED) watched.delete(watched.keys().next().value!);
      watched.set(key, entry);
      if (isDue(entry)) schedule(entry);
      return entry.at === undefined
        ? undefined
        : wanted.filter((one) => entry.missing.has(keyOf(providerRecord(name, one))));
    },
    look: (name, wanted) =>
      verifier.verify(
        wanted.map((one) => providerRecord(name, one)),
        resolvers,
      ),
    close: () => closed.abort(),
  };
}

const providerRecord = (name: string, { type, name: at, content, priority, ttl }: Wanted): ProviderRecord =>
  draftOf({ type, name: `${at.replace(/\.$/, "")}.`, content, priority, ttl }, { id: "", account: "", name });

const digestOf = (wanted: readonly Wanted[]) =>
  createHash("sha256")
    .update(JSON.stringify(wanted.map(({ type, name, content, priority }) => [type, name, content, priority])))
    .digest("base64url");
