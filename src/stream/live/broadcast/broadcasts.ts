import type { Conductor } from "./conductor-port.ts";
import { createConductor, LEASE_MS } from "./conductor.ts";
import type { BroadcastParts } from "./parts.ts";

export interface Broadcasts {
  /** Conducts from now on, and takes up what a dead process has left. Once everything else stands. */
  start(): void;
  /** Inputs that something goes on with here. */
  count(): number;
  /** Broadcasts stop where they are: who comes back in time goes on with the same video, here or elsewhere. */
  close(): Promise<void>;
}

/** Three times within a lease. */
const LOOK_MS = LEASE_MS / 4;

/** Every session that begins is conducted: it becomes a video, or goes on with one, and in the end there is a recording. */
export function createBroadcasts(parts: BroadcastParts): Broadcasts {
  const { leases, sessions, inputs, videos, clock, ids, log, alone = false } = parts;
  const owner = ids.hex();
  const conductors = new Map<string, Conductor>();
  const closing = new AbortController();
  const stops: (() => void)[] = [];
  let looking: Promise<void> = Promise.resolve();

  function conductorOf(uid: string): Conductor {
    const known = conductors.get(uid);
    if (known !== undefined) return known;
    const conductor = createConductor(uid, owner, parts, () => {
      if (conductors.get(uid) === conductor) conductors.delete(uid);
    });
    conductors.set(uid, conductor);
    return conductor;
  }

  async function look(): Promise<void> {
    const now = clock.now();
    const opened = [...conductors].flatMap(([uid, conductor]) => {
      const video = conductor.open();
      return video === undefined ? [] : [{ uid, video, conductor }];
    });
    const held = await leases.renew(owner, now + LEASE_MS);
    const lengths = new Map<string, number>();
    for (const { uid, video, conductor } of opened) {
      if (!held.has(uid)) conductor.lost(video, false);
      else if (video !== "") {
        const { account, created } = (await videos.find(video)) ?? {};
        if (account === undefined || created === undefined) conductor.lost(video, true);
        else {
          // Those of one account together: each of them takes from what is left.
          const seconds = (lengths.get(account) ?? 0) + (now - created) / 1000;
          lengths.set(account, seconds);
          if (!(await videos.fits(account, seconds))) conductor.full();
        }
      }
    }
    for (const row of await leases.lapsed(owner, now)) {
      const isOpen = conductors.get(row.input)?.open() !== undefined;
      if (!isOpen && (row.overAt === null || row.overAt <= now)) conductorOf(row.input).recover(row);
    }
  }

  async function lookAgain() {
    while (!closing.signal.aborted) {
      await look().catch((err: unknown) =>
        log.warn({ err }, "broadcasts could not be looked after; it is tried again"),
      );
      await clock.sleep(LOOK_MS, closing.signal).catch(() => {});
    }
  }

  async function begin() {
    // What a dead process held is free at once, where nobody else can be alive.
    if (alone)
      await leases
        .orphaned(owner, clock.now())
        .catch((err: unknown) => log.warn({ err }, "broadcasts of an earlier process could not be taken over at once"));
    if (closing.signal.aborted) return;
    stops.push(sessions.onSession((session) => conductorOf(session.input.uid).session(session)));
    for (const session of sessions.all()) conductorOf(session.input.uid).session(session);
    stops.push(
      inputs.onChange((uid) => {
        for (const conductor of uid === "" ? conductors.values() : [conductors.get(uid)]) conductor?.changed();
      }),
    );
    await lookAgain();
  }

  return {
    start: () => void (looking = begin()),
    count: () => conductors.size,
    async close() {
      closing.abort();
      for (const stop of stops) stop();
      await looking;
      await Promise.all([...conductors.values()].map((conductor) => conductor.close()));
      await leases
        .release(owner, clock.now())
        .catch((err: unknown) =>
          log.warn({ err }, "broadcasts could not be given away; others take them when nothing is heard of them"),
        );
    },
  };
}
