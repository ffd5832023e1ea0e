import { type BroadcastController, createBroadcastController, LEASE_MS } from "./broadcast-controller.ts";
import type { BroadcastDeps } from "./deps.ts";
import { leaseToken } from "../../../kernel/index.ts";

export interface Broadcasts {
  /**
   * Starts controlling the broadcasts of this process and takes over those of dead processes. Call it after all other
   * components have been composed.
   */
  start(): void;
  /** Returns the number of inputs with a broadcast in this process. */
  count(): number;
  /** Stops the broadcasts. A publisher that reconnects in time resumes the same video, in any process. */
  close(): Promise<void>;
}

/** Several checks per lease. */
const CHECK_INTERVAL_MS = LEASE_MS / 4;

/** Creates a controller for each session: it starts or continues a video, which becomes a recording at the end. */
export function createBroadcastControllers(controllerDeps: BroadcastDeps): Broadcasts {
  const { leases, sessions, inputs, videos, clock, ids, log, isOnlyProcess = false } = controllerDeps;
  const owner = leaseToken(ids);
  const controllers = new Map<string, BroadcastController>();
  const closing = new AbortController();
  const stops: (() => void)[] = [];
  let currentCheck: Promise<void> = Promise.resolve();

  function controllerOf(uid: string): BroadcastController {
    const existingController = controllers.get(uid);
    if (existingController !== undefined) return existingController;
    const controller = createBroadcastController(uid, owner, controllerDeps, () => {
      if (controllers.get(uid) === controller) controllers.delete(uid);
    });
    controllers.set(uid, controller);
    return controller;
  }

  async function checkAll(): Promise<void> {
    const now = clock.now();
    const openVideos = [...controllers].flatMap(([uid, controller]) => {
      const video = controller.open();
      return video === undefined ? [] : [{ uid, video, controller }];
    });
    const heldLeases = await leases.renew(owner, now + LEASE_MS);
    const lengths = new Map<string, number>();
    for (const { uid, video, controller } of openVideos) {
      if (!heldLeases.has(uid)) controller.onLeaseLost(video, false);
      else if (video !== "") {
        const { account, created } = (await videos.find(video)) ?? {};
        if (account === undefined || created === undefined) controller.onLeaseLost(video, true);
        else {
          // Broadcasts of one account are aggregated: they share the remaining storage.
          const seconds = (lengths.get(account) ?? 0) + (now - created) / 1000;
          lengths.set(account, seconds);
          if (!(await videos.hasQuotaFor(account, seconds))) controller.onStorageFull();
        }
      }
    }
    for (const row of await leases.findLapsed(owner, now)) {
      const isOpen = controllers.get(row.input)?.open() !== undefined;
      if (!isOpen && (row.overAt === null || row.overAt <= now)) controllerOf(row.input).recover(row);
    }
  }

  async function checkRepeatedly() {
    while (!closing.signal.aborted) {
      await checkAll().catch((err: unknown) => log.warn({ err }, "live: failed to check broadcasts, will retry"));
      await clock.sleep(CHECK_INTERVAL_MS, closing.signal).catch(() => {});
    }
  }

  async function begin() {
    // If no other process uses this database, leases of a dead process are free immediately.
    if (isOnlyProcess)
      await leases
        .expireOthers(owner, clock.now())
        .catch((err: unknown) => log.warn({ err }, "live: failed to take over broadcasts of an earlier process"));
    if (closing.signal.aborted) return;
    stops.push(sessions.onSession((session) => controllerOf(session.input.uid).session(session)));
    for (const session of sessions.all()) controllerOf(session.input.uid).session(session);
    stops.push(
      inputs.onChange((uid) => {
        for (const controller of uid === "" ? controllers.values() : [controllers.get(uid)]) controller?.changed();
      }),
    );
    await checkRepeatedly();
  }

  return {
    start: () => void (currentCheck = begin()),
    count: () => controllers.size,
    async close() {
      closing.abort();
      for (const stop of stops) stop();
      await currentCheck;
      await Promise.all([...controllers.values()].map((controller) => controller.close()));
      await leases
        .release(owner, clock.now())
        .catch((err: unknown) =>
          log.warn({ err }, "live: failed to release leases; other processes will take over when they expire"),
        );
    },
  };
}
