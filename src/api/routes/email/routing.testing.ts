import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext } from "node:test";
import type { Caller, Permission } from "../../../accounts/index.ts";
import { createManualClock, randomIds, silentLog } from "../../../kernel/index.ts";
import { mailMigrations } from "../../../mail/index.ts";
import { createEmailRouting } from "../../../mail/routing/index.ts";
import { createLocalEvents, createSecrets, migrate, openSqlite } from "../../../store/index.ts";
import type { Script } from "../../../workers/index.ts";
import { createZones, zonesMigrations } from "../../../zones/index.ts";
import { unrestrictedCaller, startApi, TEST_ACCOUNT } from "../../api.testing.ts";
import { emailRoutingRoutes } from "./routing.ts";
import { VERIFY_PREFIX } from "./verify-page.ts";

export const TAG = "e".repeat(32);

export async function start(t: TestContext, caller: Caller = unrestrictedCaller) {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-routing-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, [...zonesMigrations, ...mailMigrations]);
  const events = createLocalEvents({ log: silentLog });
  const clock = createManualClock(Date.UTC(2026, 10, 20));
  const zones = createZones({ db, clock, ids: randomIds, events, nameServers: ["ns1.reelpost.example"] });
  const inbox = { id: TAG, account: TEST_ACCOUNT, name: "inbox", live: {} } as Script;
  const links: string[] = [];
  const routing = createEmailRouting({
    db,
    zones,
    events,
    clock,
    ids: randomIds,
    secrets: createSecrets({ keys: [randomBytes(32)] }),
    scripts: {
      get: async (_account, name) => (name === "inbox" ? inbox : undefined),
      byId: async (_account, id) => (id === TAG ? inbox : undefined),
    },
    addresses: { link: (token) => `${VERIFY_PREFIX}${token}` },
    hosts: {
      mx: [
        { host: "mx1.reelpost.example", priority: 1 },
        { host: "mx2.reelpost.example", priority: 2 },
        { host: "mx3.reelpost.example", priority: 3 },
      ],
      spfInclude: "_spf.reelpost.example",
      dkimSelector: "reelpost",
    },
  });
  routing.addresses.onVerification(async (_address, link) => void links.push(link));
  const { call } = await startApi(t, {
    routes: emailRoutingRoutes({ zones, routing }),
    caller,
    accessControl: { zoneAccount: zones.zoneAccount },
  });
  t.after(async () => {
    routing.close();
    zones.close();
    await events.close();
    await db.close();
    rmSync(folder, { recursive: true });
  });
  const { id } = await zones.create({ account: TEST_ACCOUNT, name: "example.com" });
  return {
    call,
    zone: id,
    base: `/zones/${id}/email/routing`,
    account: `/accounts/${TEST_ACCOUNT}/email/routing`,
    routing,
    zones,
    links,
    clock,
  };
}

export const routingCallerWith = (...permissions: Permission[]): Caller => ({
  ...unrestrictedCaller,
  allows: (permission) => permissions.includes(permission),
});

export const routingErrorOf = ({
  status,
  body,
}: {
  status: number;
  body: { errors: { code: number; message: string }[] };
}) => [status, body.errors[0]?.code, body.errors[0]?.message];
