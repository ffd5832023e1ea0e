import { type Clock, isHexId } from "../../../kernel/index.ts";
import { createReadThroughCache } from "../../../kernel/recent.ts";
import type { Events, Secrets } from "../../../store/index.ts";
import type { InputsTable } from "./inputs-table.ts";
import { isKey, isSameHash, keyHash, readSrtStreamId } from "./keys.ts";
import type { LiveInput, LiveInputDirectory } from "./port.ts";
import type { LiveSettings } from "./rules.ts";
import type { InputRow } from "./live-table.ts";
import type { LiveKeys, OwnedLiveInput } from "./types.ts";

/** The id of the event is the uid of the input. */
export const LIVE_CHANGED = "stream.live";
const MAX_CACHED_INPUTS = 5000;
/** Changes are announced immediately; this bounds the delay if a notification is lost. */
const CACHE_TTL_MS = 10_000;

export const inputKeyContext = (uid: string): string => `stream/live/${uid}`;

export const inputOf = (row: InputRow): LiveInput => ({
  uid: row.uid,
  account: row.account_id,
  ...(JSON.parse(row.settings) as LiveSettings),
  created: row.created_at,
  modified: row.modified_at,
  keysRotatedAt: row.rotated_at,
});

export const ownedInputOf = (row: InputRow, secrets: Pick<Secrets, "open">): OwnedLiveInput => ({
  input: inputOf(row),
  keys: JSON.parse(secrets.open(row.keys, inputKeyContext(row.uid))) as LiveKeys,
  status: row.status,
  statusAt: row.status_at,
});

interface DirectoryDeps {
  table: Pick<InputsTable, "find" | "uidByKey">;
  secrets: Pick<Secrets, "open">;
  events: Events;
  clock: Clock;
}

export interface Directory extends LiveInputDirectory {
  /**
   * Called after a change has been committed and before the response is sent: the row is read again, immediately in
   * this process and on the event in others.
   */
  changed(uid: string): void;
  close(): void;
}

/** Caches frequent lookups of ingest and playback in memory. */
export function createDirectory({ table, secrets, events, clock }: DirectoryDeps): Directory {
  const inputCache = createReadThroughCache<CachedInput>({
    async read(uid) {
      const row = await table.find(uid);
      return (
        row && {
          input: inputOf(row),
          keys: ownedInputOf(row, secrets).keys,
          publish: row.publish_hash,
          playback: row.playback_hash,
        }
      );
    },
    clock,
    max: MAX_CACHED_INPUTS,
    ttlMs: CACHE_TTL_MS,
  });
  const byHash = { publish: uids("publish"), playback: uids("playback") };

  function uids(kind: "publish" | "playback") {
    return createReadThroughCache({
      read: (hash) => table.uidByKey(kind, hash),
      clock,
      max: MAX_CACHED_INPUTS,
      ttlMs: CACHE_TTL_MS,
    });
  }
  function forget(uid: string) {
    inputCache.forget((_, key) => uid === "" || key === uid);
    for (const hashCache of Object.values(byHash)) hashCache.forget((value) => uid === "" || value === uid);
  }
  // Runs before all other listeners, so that they read the new state.
  const unsubscribe = events.subscribe(LIVE_CHANGED, forget);

  const find = async (uid: string) => (isHexId(uid) ? inputCache.get(uid) : undefined);

  async function findByKey(kind: "publish" | "playback", key: string): Promise<LiveInput | undefined> {
    if (!isKey(key)) return undefined;
    const hash = keyHash(key);
    const uid = await byHash[kind].get(hash);
    const entry = uid === undefined ? undefined : await find(uid);
    return entry !== undefined && isSameHash(entry[kind], hash) ? entry.input : undefined;
  }

  return {
    find: async (uid) => (await find(uid))?.input,
    byPublishKey: (key) => findByKey("publish", key),
    byPlaybackKey: (key) => findByKey("playback", key),
    async bySrtStreamId(streamId) {
      const parsedId = readSrtStreamId(streamId);
      const entry = parsedId && (await find(parsedId.uid));
      if (parsedId === undefined || entry === undefined) return undefined;
      return {
        input: entry.input,
        direction: parsedId.direction,
        passphrase: parsedId.direction === "publish" ? entry.keys.publish : entry.keys.playback,
      };
    },
    onChange: (listener) => events.subscribe(LIVE_CHANGED, listener),
    changed(uid) {
      forget(uid);
      events.publish(LIVE_CHANGED, uid);
    },
    close: unsubscribe,
  };
}

interface CachedInput {
  input: LiveInput;
  keys: LiveKeys;
  publish: string;
  playback: string;
}
