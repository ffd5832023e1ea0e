import type { Clock } from "../../../kernel/index.ts";
import { createReadThroughCache } from "../../../kernel/recent.ts";
import type { VideoCatalog } from "../../videos/index.ts";
import type { InputsTable } from "./inputs-table.ts";
import type { LiveState } from "./port.ts";

/** Current public status of an input. */
export interface PublicLiveStatus {
  live: boolean;
  /** Uid of the video that is being recorded; null: none. */
  video: string | null;
}

export interface LiveBroadcasts {
  /**
   * State of an input by uid; undefined if the input does not exist. At most one second old, since every waiting viewer
   * polls it.
   */
  now(input: string): Promise<PublicLiveStatus | undefined>;
}

const LIVE_STATES: ReadonlySet<LiveState | null> = new Set<LiveState>([
  "connected",
  "reconnected",
  "new_configuration_accepted",
]);
const CACHE_TTL_MS = 1000;
const MAX_CACHED_INPUTS = 5000;

/** Reads the rows, so the result is the same in every process, whichever one receives the broadcast. */
export function createBroadcasts({
  table,
  catalog,
  clock,
}: {
  table: Pick<InputsTable, "find">;
  catalog: Pick<VideoCatalog, "list">;
  clock: Clock;
}): LiveBroadcasts {
  async function read(uid: string): Promise<PublicLiveStatus | undefined> {
    const row = await table.find(uid);
    if (row === undefined) return undefined;
    const [video] = await catalog.list(row.account_id, { liveInput: uid, states: ["live-inprogress"], limit: 1 });
    return { live: LIVE_STATES.has(row.status), video: video?.uid ?? null };
  }
  const cachedStates = createReadThroughCache<PublicLiveStatus>({
    read,
    clock,
    max: MAX_CACHED_INPUTS,
    ttlMs: CACHE_TTL_MS,
  });
  return { now: cachedStates.get };
}
