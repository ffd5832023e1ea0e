import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { createManualClock, randomIds, silentLog, systemClock } from "../kernel/index.ts";
import { createLocalEvents, migrate, openSqlite } from "../store/index.ts";
import { createHostOwners } from "../workers/routing/index.ts";
import { createZones, ZONE_DELETED, zonesMigrations } from "../zones/index.ts";
import { createCustomDomainHosts } from "./custom-domain-hosts.ts";
import { createRoutingZones, publicHostOf } from "./routing-zones.ts";

const WEB_HOST = "www.platform.example";

async function start(t: TestContext, webHost: string | undefined = WEB_HOST) {
  const folder = mkdtempSync(join(tmpdir(), "routing-zones-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  const events = createLocalEvents({ log: silentLog });
  await migrate(db, zonesMigrations);
  const zones = createZones({ db, clock: systemClock, ids: randomIds, events, nameServers: ["ns.platform.example"] });
  t.after(async () => {
    zones.close();
    await events.close();
    await db.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const zone = await zones.create({ account: "a".repeat(32), name: "shop.example" });
  const recordLines = async () =>
    (await zones.records.list(zone.id, {}, { page: 1, perPage: 100 })).items
      .map(({ name, type, content, locked }) => `${name} ${type} ${content}${locked ? " locked" : ""}`)
      .sort();
  return { zones, zone, events, recordLines, routing: createRoutingZones({ zones, webHost }) };
}

test("custom domains have locked CNAME records, which are removed with the domains", async (t) => {
  const { routing, zone, recordLines } = await start(t);
  await routing.publish(zone, ["shop.example", "app.shop.example"], false);
  await routing.publish(zone, ["shop.example", "app.shop.example"], false);
  assert.deepEqual(await recordLines(), [
    `app.shop.example CNAME ${WEB_HOST} locked`,
    `shop.example CNAME ${WEB_HOST} locked`,
  ]);
  assert.deepEqual(await routing.conflicts(zone, ["app.shop.example"]), []);
  await routing.publish(zone, ["app.shop.example"], false);
  assert.deepEqual(await recordLines(), [`app.shop.example CNAME ${WEB_HOST} locked`]);
  assert.equal((await routing.findEnclosing("x.app.shop.example"))?.id, zone.id);
  assert.equal(await routing.findEnclosing("other.example"), undefined);
});

test("replaces conflicting address records only on request, and a rejected change has no effect", async (t) => {
  const { routing, zones, zone, recordLines } = await start(t);
  for (const content of ["192.0.2.1", "192.0.2.2"])
    await zones.records.create(zone, { type: "A", name: "app", content });
  await zones.records.create(zone, { type: "TXT", name: "text", content: "kept" });
  const linesBefore = await recordLines();
  assert.deepEqual(await routing.conflicts(zone, ["app.shop.example", "new.shop.example"]), ["app.shop.example"]);
  await assert.rejects(routing.publish(zone, ["new.shop.example", "app.shop.example"], false));
  // A CNAME excludes records of every type (RFC 1034 3.6.2).
  await assert.rejects(routing.publish(zone, ["app.shop.example", "text.shop.example"], true));
  assert.deepEqual(await recordLines(), linesBefore);
  await routing.publish(zone, ["app.shop.example"], true);
  assert.deepEqual(
    (await recordLines()).filter((record) => record.startsWith("app.")),
    [`app.shop.example CNAME ${WEB_HOST} locked`],
  );
});

test("without a public host name, no records are created", async (t) => {
  const { zones, zone, recordLines } = await start(t);
  const routing = createRoutingZones({ zones, webHost: undefined });
  await zones.records.create(zone, { type: "A", name: "app", content: "192.0.2.1" });
  assert.deepEqual(await routing.conflicts(zone, ["app.shop.example"]), []);
  await routing.publish(zone, ["app.shop.example"], true);
  assert.deepEqual(await recordLines(), ["app.shop.example A 192.0.2.1"]);
  assert.deepEqual(
    ["", "http://localhost:1", "http://127.0.0.1", "https://[::1]/", "https://a.example:8443"].map(publicHostOf),
    [undefined, undefined, undefined, undefined, "a.example"],
  );
});

test("a host belongs to the account of the closest zone, until that zone is deleted", async (t) => {
  const { routing, zones, zone, events } = await start(t);
  const clock = createManualClock(0);
  const owners = createHostOwners({ zones: routing, events, zoneDeletedTopic: ZONE_DELETED, clock });
  t.after(owners.close);
  const [above, next] = ["b".repeat(32), "c".repeat(32)];
  const host = "www.shop.example";
  assert.equal(await owners.find(host), zone.account);
  const deleted = new Promise<void>((resolve) => void events.subscribe(ZONE_DELETED, () => resolve()));
  await zones.delete(zone.id);
  await deleted;
  assert.equal(await owners.find(host), undefined);
  await zones.create({ account: next, name: "www.shop.example" });
  await zones.create({ account: above, name: "shop.example" });
  assert.deepEqual([await owners.find(host), await owners.find("shop.example")], [next, above]);
});

test("custom domains whose names resolve to this server get certificates", async () => {
  const names: Record<string, string[]> = {
    [WEB_HOST]: ["192.0.2.1"],
    "apex.example": ["192.0.2.1"],
    "unselected.example": ["192.0.2.1"],
    "elsewhere.example": ["192.0.2.9"],
  };
  const lookups = {
    resolve: async (name: string) => (name === "alias.example" ? [WEB_HOST] : Promise.reject(new Error("no record"))),
    resolve4: async (name: string) => names[name] ?? Promise.reject(new Error("no record")),
    resolve6: () => Promise.reject(new Error("no record")),
  };
  const domains = {
    enabledHosts: async () =>
      ["alias.example", "apex.example", "elsewhere.example", "unselected.example"].map((host) => ({
        host,
        account: "a",
      })),
  };
  const hosts = (public_url: string) =>
    createCustomDomainHosts({
      domains,
      lookups,
      settings: { http: { public_url } as Parameters<typeof createCustomDomainHosts>[0]["settings"]["http"] },
    })((candidates) => candidates.filter(({ host }) => host !== "unselected.example")).then((found) =>
      found.map(({ host }) => host),
    );
  assert.deepEqual(await hosts(`https://${WEB_HOST}`), ["alias.example", "apex.example"]);
  assert.deepEqual(await hosts(""), []);
});
