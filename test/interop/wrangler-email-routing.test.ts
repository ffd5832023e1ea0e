import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { startApi, TEST_ACCOUNT, TEST_TOKEN } from "../../src/api/api.testing.ts";
import { emailRoutingRoutes } from "../../src/api/routes/email/routing.ts";
import { zonesRoutes } from "../../src/api/routes/zones.ts";
import { randomIds, silentLog, systemClock } from "../../src/kernel/index.ts";
import { mailMigrations, type EmailRouting } from "../../src/mail/index.ts";
import { createEmailRouting } from "../../src/mail/routing/index.ts";
import { createLocalEvents, createSecrets, migrate, openSqlite } from "../../src/store/index.ts";
import type { Script } from "../../src/workers/index.ts";
import { createZones, zonesMigrations, type Zone } from "../../src/zones/index.ts";
import { createWrangler, type Wrangler } from "../support/wrangler.ts";
import { createScope } from "./platform.ts";

describe("wrangler email routing", () => {
  const scope = createScope();
  let routing: EmailRouting;
  let wrangler: Wrangler;
  let zone: Zone;
  before(async () => {
    const folder = mkdtempSync(join(tmpdir(), "reelpost-interop-routing-"));
    const db = openSqlite({ path: join(folder, "test.db") });
    await migrate(db, [...zonesMigrations, ...mailMigrations]);
    const events = createLocalEvents({ log: silentLog });
    const zones = createZones({
      db,
      clock: systemClock,
      ids: randomIds,
      events,
      nameServers: ["ns1.reelpost.example"],
    });
    const inbox = { id: "e".repeat(32), account: TEST_ACCOUNT, name: "inbox", live: {} } as Script;
    routing = createEmailRouting({
      db,
      zones,
      events,
      clock: systemClock,
      ids: randomIds,
      secrets: createSecrets({ keys: [randomBytes(32)] }),
      scripts: { get: async (_account, name) => (name === "inbox" ? inbox : undefined), byId: async () => inbox },
      addresses: { link: (token) => token },
      hosts: {
        mx: [1, 2, 3].map((priority) => ({ host: `mx${priority}.reelpost.example`, priority })),
        spfInclude: "_spf.reelpost.example",
        dkimSelector: "reelpost",
      },
    });
    routing.addresses.onVerification(async () => {});
    scope.after(async () => {
      routing.close();
      zones.close();
      await events.close();
      await db.close();
      rmSync(folder, { recursive: true });
    });
    const account = {
      id: TEST_ACCOUNT,
      name: "Main",
      type: "standard" as const,
      settings: { enforceTwofactor: false },
      createdAt: 0,
    };
    const accounts = { list: async () => ({ items: [account], total: 1 }) };
    const { url } = await startApi(scope, {
      routes: [...zonesRoutes({ zones, accounts }), ...emailRoutingRoutes({ zones, routing })],
      accessControl: { zoneAccount: zones.zoneAccount },
    });
    zone = await zones.create({ account: TEST_ACCOUNT, name: "example.com" });
    wrangler = await createWrangler(scope, { api: url, token: TEST_TOKEN, account: TEST_ACCOUNT });
  });
  after(scope.close);

  const run = async (...args: string[]) => (await wrangler.run(["email", "routing", ...args])).text;
  const attempt = (...args: string[]) => wrangler.attempt(["email", "routing", ...args]);

  it("enable, settings, list and dns get work on a zone", async () => {
    assert.match(await run("enable", "example.com"), /Email Routing enabled for example\.com \(status: ready\)/);
    const [settings, list, dns] = await Promise.all([
      run("settings", "example.com"),
      run("list"),
      run("dns", "get", "example.com"),
    ]);
    assert.match(settings, /Enabled: +true\s+Status: +ready/);
    assert.match(list, /example\.com .*yes/);
    assert.match(dns, /MX record:\s+Name: +example\.com\s+Content: +mx1\.reelpost\.example\s+Priority: 1/);
    assert.match(dns, /v=DKIM1; h=sha256; k=rsa; p=/);
  });

  it("addresses create, list, get and delete manage destination addresses", async () => {
    const made = await run("addresses", "create", "me@example.net");
    assert.match(made, /A verification email has been sent/);
    const id = /ID: ([0-9a-f]{32})/.exec(made)![1]!;
    const [list, one] = await Promise.all([run("addresses", "list"), run("addresses", "get", id)]);
    assert.match(list, /me@example\.net .*pending/);
    assert.match(one, /Verified: pending/);
    await routing.addresses.setVerified(TEST_ACCOUNT, id, true);
    await run("addresses", "create", "gone@example.net");
    const gone = (await routing.addresses.list(TEST_ACCOUNT, { verified: false }, { page: 1, perPage: 1 })).items[0]!;
    assert.match(await run("addresses", "delete", gone.id, "--force"), /Deleted destination address/);
  });

  it("rules create, list, get, update and delete manage rules, and the catch-all rule by both its names", async () => {
    const matching = ["--match-type", "literal", "--match-field", "to", "--match-value", "hi@example.com"];
    const made = await run(
      "rules",
      "create",
      "example.com",
      ...matching,
      "--action-type",
      "worker",
      "--action-value",
      "inbox",
      "--name",
      "to the worker",
    );
    const id = /Created routing rule: ([0-9a-f]{32})/.exec(made)![1]!;
    const catchAll = await routing.rules.catchAll(zone);
    const [list, one, byWord, byId] = await Promise.all([
      run("rules", "list", "example.com"),
      run("rules", "get", "example.com", id),
      run("rules", "get", "example.com", "catch-all"),
      run("rules", "get", "example.com", catchAll.id),
    ]);
    assert.match(list, /to:hi@example\.com\s+Actions: +worker:inbox/);
    assert.match(list, /Catch-all rule: disabled, action: drop/);
    assert.match(one, /literal to = hi@example\.com/);
    for (const text of [byWord, byId]) assert.match(text, /Catch-all rule:\s+Enabled: false\s+Actions:\s+- drop/);
    assert.match(
      await run(
        "rules",
        "update",
        "example.com",
        id,
        ...matching,
        "--action-type",
        "forward",
        "--action-value",
        "me@example.net",
      ),
      new RegExp(id),
    );
    assert.equal((await routing.resolve("hi@example.com")).kind, "forward");
    assert.match(
      await run("rules", "update", "example.com", "catch-all", "--action-type", "drop", "--enabled"),
      /Enabled: true/,
    );
    assert.equal((await routing.resolve("any@example.com")).kind, "drop");
    assert.match(await run("rules", "delete", "example.com", id, "--force"), /Deleted routing rule/);
    const refused = await attempt(
      "rules",
      "create",
      "example.com",
      ...matching,
      "--action-type",
      "forward",
      "--action-value",
      "stranger@example.net",
    );
    assert.notEqual(refused.code, 0);
    assert.match(refused.text, /Destination address is not verified \[code: 2054\]/);
  });

  it("rules can drop mail, be disabled, have a priority, and be addressed by zone id", async () => {
    const matching = ["--match-type", "literal", "--match-field", "to", "--match-value", "spam@example.com"];
    const made = await run(
      "rules",
      "create",
      "example.com",
      "--zone-id",
      zone.id,
      ...matching,
      "--action-type",
      "drop",
      "--enabled",
      "false",
      "--priority",
      "7",
    );
    assert.match(made, /Enabled: false/);
    const id = /Created routing rule: ([0-9a-f]{32})/.exec(made)![1]!;
    const [rule] = (await routing.rules.list(zone, {}, { page: 1, perPage: 50 })).items.filter((one) => one.id === id);
    assert.deepEqual([rule!.enabled, rule!.priority, rule!.action.type], [false, 7, "drop"]);
    const byId = ["--zone-id", zone.id];
    const [settings, dns, unforced, missing, unconfirmed] = await Promise.all([
      run("settings", "example.com", ...byId),
      run("dns", "get", "example.com", ...byId),
      run("rules", "delete", "example.com", id),
      attempt("rules", "get", "example.com", "0".repeat(32)),
      run("disable", "example.com"),
    ]);
    assert.match(settings, /Enabled: +true/);
    assert.match(dns, /MX record:/);
    assert.match(unforced, /Not deleting/);
    assert.match(unconfirmed, /Not disabling/);
    assert.notEqual(missing.code, 0);
    assert.match(missing.text, /\[code: \d+\]/);
    assert.match(await run("rules", "delete", "example.com", id, "--force"), /Deleted routing rule/);
    assert.match((await attempt("settings", "example.org")).text, /Could not find zone for `example\.org`/);
  });

  it("dns unlock and disable work on a zone", async () => {
    assert.match(
      await run("dns", "unlock", "example.com", "--force"),
      /MX records unlocked for example\.com \(enabled: true\)/,
    );
    assert.match(
      await run("disable", "example.com", "--force"),
      /Email Routing disabled for example\.com \(status: unconfigured\)/,
    );
  });
});
