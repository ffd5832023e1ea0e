import { type Clock, type Log, UserError } from "../../kernel/index.ts";
import type { Jobs, JobWorker } from "../../store/index.ts";
import type { Zone, Zones } from "../../zones/index.ts";
import type { DkimKeys, DkimName } from "./dkim-keys.ts";
import type { DkimKey, DkimRecord, DkimUse } from "./types.ts";

/** Publishes the DNS records for one DKIM use. */
interface DkimPublisher {
  /** Creates the next keys of a name and publishes them alongside the active ones. */
  rotate(zone: Zone, name: string): Promise<unknown>;
  /** Writes the records of a name again. Throws a UserError if the name has been disabled. */
  republish(zone: Zone, name: string): Promise<unknown>;
}

export interface DkimRotationOptions {
  dkimKeys: DkimKeys;
  zones: Pick<Zones, "find">;
  publishers: Partial<Record<DkimUse, DkimPublisher>>;
  /** True if all of these records of a name are visible in public DNS. */
  areVisible(name: string, records: readonly (DkimRecord & { name: string })[]): Promise<boolean>;
  /** True if new records reach the zone's DNS automatically; in other zones, keys are rotated only manually. */
  isAutomatic(zone: Zone): boolean;
  jobs: Jobs;
  clock: Pick<Clock, "now">;
  log: Log;
  /** Age in days at which keys are rotated; 0: never. */
  days: number;
  /** Number of names per step; the next step continues after them. Default 200. */
  batch?: number;
}

export interface DkimRotation {
  /** Performs the steps that are due: creates, activates and deletes keys. */
  step(): Promise<void>;
  close(): Promise<void>;
}

const KIND = "mail.dkim-rotation";
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const STEP_MS = HOUR_MS / 6;
/**
 * Wait after the records are visible: resolvers may have cached their absence for this long (RFC 2308 5; zones here use
 * five minutes).
 */
const PUBLICATION_DELAY_MS = HOUR_MS;
/** How long mail may be in transit (RFC 5321 4.5.4.1: 4-5 days) and be verified afterwards. */
const RETIRED_KEY_TTL_MS = 7 * DAY_MS;

/**
 * Rotates DKIM keys without breaking the verification of any message: the next keys are published, sign once they are
 * visible everywhere, and the previous ones stay published for a week. One process runs a step every ten minutes.
 */
export function createDkimRotation({
  dkimKeys,
  zones,
  publishers,
  areVisible,
  isAutomatic,
  jobs,
  clock,
  log,
  days,
  batch = 200,
}: DkimRotationOptions): DkimRotation {
  const cursors: { next?: DkimName; active?: DkimName } = {};

  /** Returns some of the names that are due. Names that cannot be processed must not block the others forever. */
  async function findDueNames(state: "next" | "active", before: number): Promise<DkimName[]> {
    const names = await dkimKeys.names(state, before, batch, cursors[state]);
    if (names.length === batch) cursors[state] = names.at(-1)!;
    else delete cursors[state];
    return names;
  }

  async function forEach(
    names: readonly DkimName[],
    what: string,
    work: (zone: Zone, name: DkimName, publisher: DkimPublisher) => Promise<void>,
  ) {
    for (const name of names) {
      const [zone, publisher] = [await zones.find(name.zone), publishers[name.use]];
      if (zone === undefined || publisher === undefined) continue;
      try {
        await work(zone, name, publisher);
      } catch (err) {
        // The name was disabled meanwhile: nothing to do.
        if (!(err instanceof UserError)) log.error({ err, domain: name.domain }, what);
      }
    }
  }

  async function step() {
    const now = clock.now();
    await forEach(
      await findDueNames("next", now - PUBLICATION_DELAY_MS),
      "dkim: failed to look up new keys, will retry",
      async (_, name) => {
        const next = (await dkimKeys.list(name)).filter(({ state }) => state === "next");
        const records = (await dkimKeys.records(name))
          .filter(({ selector }) => next.some((key) => key.selector === selector))
          .map((record) => ({ ...record, name: `${record.selector}._domainkey.${name.domain}` }));
        if (records.length === 0 || !(await areVisible(name.domain, records))) return;
        if (await dkimKeys.promote(name))
          log.info(
            { domain: name.domain, selectors: records.map(({ selector }) => selector) },
            "dkim: new keys activated",
          );
      },
    );
    if (days > 0) {
      await forEach(
        await findDueNames("active", now - days * DAY_MS),
        "dkim: failed to replace keys, will retry",
        async (zone, name, publisher) => {
          if (!isAutomatic(zone) || !(await dkimKeys.list(name)).every(({ state }: DkimKey) => state !== "next"))
            return;
          await publisher.rotate(zone, name.domain);
          log.info({ domain: name.domain }, "dkim: new keys published");
        },
      );
    }
    await forEach(
      await dkimKeys.sweep(now - RETIRED_KEY_TTL_MS),
      "dkim: failed to remove the records of old keys",
      async (zone, name, publisher) => void (await publisher.republish(zone, name.domain)),
    );
  }

  const reschedule = async (runAt: Date) => void (await jobs.enqueue(KIND, {}, { key: "step", runAt, attempts: 1000 }));
  const worker: JobWorker = jobs.work(KIND, { concurrency: 1, leaseMs: 300_000, pollMs: 30_000 }, async () => {
    await step();
    await reschedule(new Date(clock.now() + STEP_MS));
  });
  reschedule(new Date(clock.now())).catch((err: unknown) =>
    log.error({ err }, "dkim: failed to start key rotation, will retry"),
  );

  return { step, close: () => worker.stop() };
}
