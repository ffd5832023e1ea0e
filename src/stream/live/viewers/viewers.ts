import { every } from "../../../kernel/periodic.ts";
import type { Clock, Ids, Log } from "../../../kernel/index.ts";
import type { Db } from "../../../store/index.ts";
import { type DeliveryRoute, viewerName } from "../../delivery/index.ts";
import { createViewerPresence } from "./present.ts";
import { countDistinct, sketchOf, readSketch, writeSketch } from "./sketch.ts";
import { createViewersTable } from "./viewers-table.ts";

/** A viewer that is connected instead of requesting segments. */
export interface ViewerConnection {
  input: string;
  /** Unique per connection. */
  session: string;
  /** "" if unknown. */
  ip: string;
  /** The protocol, as the name of the player: "WebRTC", "SRT" or "RTMP". */
  player: string;
}

interface LiveViewersDeps {
  db: Db;
  clock: Clock;
  ids: Pick<Ids, "hex">;
  /** Called for each connected viewer every few seconds and when it leaves, with the seconds since the last call. */
  onWatched?: ((connection: ViewerConnection, seconds: number) => void) | undefined;
  log: Log;
}

/**
 * Counts viewers of an input's broadcast: current ones over WebRTC, RTMP and SRT, and those of the last thirty seconds
 * over HLS and DASH.
 */
export interface LiveViewers {
  /** Wraps a route: counts clients that get a playlist or segment of a live broadcast. */
  watch(route: DeliveryRoute): DeliveryRoute;
  /** Counts a connected viewer until the returned function is called. `session`: unique per connection. */
  join(input: string, session: string, from?: Partial<Pick<ViewerConnection, "ip" | "player">>): () => void;
  /**
   * Count across all processes; other processes' numbers are a few seconds old. Exact up to a few hundred; above that,
   * the overlap between processes is estimated.
   */
  count(input: string): Promise<number>;
  /** Publishes the viewers to other processes immediately. Also runs automatically every ten seconds. */
  publish(): Promise<void>;
  close(): Promise<void>;
}

const WATCHING_TTL_MS = 30_000;
const PUBLISH_INTERVAL_MS = 10_000;
/** Validity period of viewers published by another process, and how long they are cached. */
const MAX_AGE_MS = 25_000;
const READ_CACHE_MS = 5000;
const MAX_CACHED_INPUTS = 1000;

export function createLiveViewers({ db, clock, ids, onWatched, log }: LiveViewersDeps): LiveViewers {
  const table = createViewersTable(db);
  const process = ids.hex();
  const presence = createViewerPresence({ now: () => clock.now() });
  const otherSketches = new Map<string, { at: number; sketches: Promise<number[][]> }>();
  const connections = new Set<{ about: ViewerConnection; countedAt: number }>();
  let hasReported = false;
  const publishing = every(PUBLISH_INTERVAL_MS, write, { name: "live: publication of viewer counts", log });

  function countTime(connection: { about: ViewerConnection; countedAt: number }) {
    const now = clock.now();
    if (now > connection.countedAt) onWatched?.(connection.about, (now - connection.countedAt) / 1000);
    connection.countedAt = now;
  }

  async function write(): Promise<void> {
    const now = clock.now();
    for (const connection of connections) countTime(connection);
    presence.forget(now - WATCHING_TTL_MS);
    const inputs = presence.inputs();
    if (inputs.length === 0 && !hasReported) return;
    if (inputs.length > 0)
      await table.note(
        inputs.map((input) => ({ input, process, viewers: writeSketch(sketchOf(presence.of(input))), at: now })),
      );
    await table.forget({ before: now - 2 * MAX_AGE_MS });
    hasReported = inputs.length > 0;
  }

  function sketchesOfOthers(input: string): Promise<number[][]> {
    const now = clock.now();
    const cachedSketches = otherSketches.get(input);
    if (cachedSketches !== undefined && now - cachedSketches.at < READ_CACHE_MS) return cachedSketches.sketches;
    const sketches = table.ofOthers(input, process, now - MAX_AGE_MS).then((texts) => texts.map(readSketch));
    otherSketches.delete(input);
    if (otherSketches.size >= MAX_CACHED_INPUTS) otherSketches.delete(otherSketches.keys().next().value!);
    otherSketches.set(input, { at: now, sketches });
    sketches.catch(() => otherSketches.delete(input));
    return sketches;
  }

  return {
    publish: publishing.run,
    watch: (route) =>
      !/^(manifest|segments)\//.test(route.path)
        ? route
        : {
            ...route,
            async handle(viewing) {
              await route.handle(viewing);
              const { video, viewer, request, response } = viewing;
              if (
                video.liveInput === undefined ||
                video.state !== "live-inprogress" ||
                request.method !== "GET" ||
                response.statusCode >= 400
              )
                return;
              presence.markSeen(video.liveInput, viewerName(viewer.ip, request));
            },
          },
    join(input, session, { ip = "", player = "Other" } = {}) {
      const leave = presence.join(input, session);
      const connection = { about: { input, session, ip, player }, countedAt: clock.now() };
      connections.add(connection);
      return () => {
        leave();
        if (connections.delete(connection)) countTime(connection);
      };
    },
    async count(input) {
      presence.forget(clock.now() - WATCHING_TTL_MS);
      const sketches = await sketchesOfOthers(input).catch((err: unknown) => {
        log.warn({ err }, "live: failed to read viewer counts of other processes");
        return [];
      });
      return sketches.every((sketch) => sketch.length === 0)
        ? presence.count(input)
        : countDistinct([sketchOf(presence.of(input)), ...sketches]);
    },
    async close() {
      await publishing.stop();
      for (const connection of connections) countTime(connection);
      if (hasReported)
        await table
          .forget({ before: 0, process })
          .catch((err: unknown) => log.warn({ err }, "live: failed to remove viewers that have left"));
    },
  };
}
