import type { TestContext } from "node:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Caller } from "../../accounts/index.ts";
import { randomIds, silentLog, systemClock } from "../../kernel/index.ts";
import { createLocalEvents, migrate, openSqlite } from "../../store/index.ts";
import { createZones, zonesMigrations } from "../../zones/index.ts";
import { unrestrictedCaller, startApi, TEST_ACCOUNT } from "../api.testing.ts";
import { dnsRecordRoutes } from "./dns-records.ts";
import { zonesRoutes } from "./zones.ts";

export const OTHER_ACCOUNT = "e".repeat(32);
const ACCOUNTS = [
  { id: TEST_ACCOUNT, name: "Dev Account" },
  { id: OTHER_ACCOUNT, name: "Other" },
];

/** Serves the zone and record routes over HTTP with an empty database. `zone` creates a zone and returns its id. */
export async function openZonesApi(
  t: TestContext,
  caller: Caller = { ...unrestrictedCaller, accounts: [TEST_ACCOUNT, OTHER_ACCOUNT] },
) {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-zones-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, zonesMigrations);
  const events = createLocalEvents({ log: silentLog });
  const zones = createZones({
    db,
    clock: systemClock,
    ids: randomIds,
    events,
    nameServers: ["ns1.reelpost.example", "ns2.reelpost.example"],
  });
  const accounts = {
    list: async (by: Caller) => {
      const items = ACCOUNTS.filter(({ id }) => by.accounts.includes(id)).map((account) => ({
        ...account,
        type: "standard" as const,
        settings: { enforceTwofactor: false },
        createdAt: 0,
      }));
      return { items, total: items.length };
    },
  };
  const api = await startApi(t, {
    routes: [...zonesRoutes({ zones, accounts }), ...dnsRecordRoutes({ zones })],
    caller,
    accessControl: { zoneAccount: zones.zoneAccount },
  });
  t.after(async () => {
    zones.close();
    await events.close();
    await db.close();
    rmSync(folder, { recursive: true });
  });
  const zone = async (name = "example.com", account = TEST_ACCOUNT) => (await zones.create({ account, name })).id;
  return { ...api, zones, zone };
}

/** Returns the status, the code and the first chained code of an error response. */
export const codes = ({
  status,
  body,
}: {
  status: number;
  body: { errors: { code: number; error_chain?: { code: number }[] }[] };
}) => [status, body.errors[0]?.code, body.errors[0]?.error_chain?.[0]?.code];
