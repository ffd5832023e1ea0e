import type { TestContext } from "node:test";
import type { TestEngine } from "../../test/support/databases.ts";
import { createManualClock, randomIds, silentLog, UserError } from "../kernel/index.ts";
import { createLocalEvents } from "../store/index.ts";
import { createZones, zonesMigrations } from "./index.ts";
import { type ZonesOptions } from "./create.ts";

export const ACCOUNT = "a".repeat(32);
export const OTHER_ACCOUNT = "b".repeat(32);
export const NAME_SERVERS = ["ns1.reelpost.example", "ns2.reelpost.example"];

export async function openZones(t: TestContext, engine: TestEngine, options: Partial<ZonesOptions> = {}) {
  const { db, another } = await engine.open(t, zonesMigrations);
  const clock = createManualClock(Date.UTC(2026, 0, 2, 3, 4, 5, 678));
  const events = createLocalEvents({ log: silentLog });
  const zones = createZones({ db, clock, ids: randomIds, events, nameServers: NAME_SERVERS, ...options });
  t.after(async () => {
    zones.close();
    await events.close();
  });
  return {
    db,
    another,
    clock,
    events,
    zones,
    records: zones.records,
    newZone: (name = "example.com") => zones.create({ account: ACCOUNT, name }),
  };
}

/** Resolves with the kind of the error with which a promise rejects, and the messages in its chain. */
export async function refusal(promise: Promise<unknown>): Promise<[kind: string, ...chain: number[]]> {
  try {
    await promise;
  } catch (err) {
    if (!(err instanceof UserError)) throw err;
    return [err.kind, ...((err.details.chain as { code: number }[] | undefined) ?? []).map(({ code }) => code)];
  }
  return ["nothing was refused"];
}
