import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { openEventStream } from "../../../test/support/event-stream.ts";
import type { Caller, Permission, Resource } from "../../accounts/index.ts";
import { silentLog, systemClock } from "../../kernel/index.ts";
import { publishChange, createLocalEvents } from "../../store/index.ts";
import { startApi, TEST_ACCOUNT, TEST_TOKEN, TEST_ZONE, unrestrictedCaller } from "../api.testing.ts";
import { createLiveEvents, type LiveEventSource } from "../live-events.ts";
import { eventRoutes } from "./events.ts";

const OTHER_ACCOUNT = "e".repeat(32);

interface Setup {
  caller?: Caller;
  sources?: LiveEventSource[];
  limits?: NonNullable<Parameters<typeof eventRoutes>[0]["limits"]>;
  authenticateAgain?: () => Promise<Caller | undefined>;
}

async function open(
  t: TestContext,
  { caller = unrestrictedCaller, sources = [], limits = {}, authenticateAgain = async () => caller }: Setup = {},
) {
  const events = createLocalEvents({ log: silentLog });
  const live = createLiveEvents({
    events,
    sources,
    zoneAccount: async (zone) => (zone === TEST_ZONE ? TEST_ACCOUNT : undefined),
    log: silentLog,
  });
  const { routes, close } = eventRoutes({
    live,
    authenticateAgain,
    clock: systemClock,
    limits: { collectMs: 5, ...limits },
  });
  const api = await startApi(t, { routes, caller });
  t.after(() => {
    close();
    return events.close();
  });

  async function connect(query = "") {
    const { response, next, stop } = await openEventStream(
      `${api.url}/accounts/${TEST_ACCOUNT}/events${query}`,
      TEST_TOKEN,
    );
    t.after(stop);
    assert.equal(response.status, 200);
    assert.match(response.headers.get("content-type")!, /^text\/event-stream/);
    const opening = await next();
    assert.equal(opening?.event, "open");
    return { next, topics: opening.data["topics"] as string[], stop };
  }
  return { api, events, live, connect, close };
}

const callerWith = (allows: (permission: Permission, resource: Resource) => boolean): Caller => ({
  ...unrestrictedCaller,
  allows,
});

test("a client receives the changes of its account, each once", async (t) => {
  const { events, connect } = await open(t, { limits: { collectMs: 50 } });
  const { next, topics } = await connect();
  assert.ok(topics.includes("mail") && topics.includes("videos"));
  publishChange(events, { topic: "mail", account: OTHER_ACCOUNT, id: "other" });
  publishChange(events, { topic: "mail", account: TEST_ACCOUNT, zone: TEST_ZONE, id: "m1" });
  publishChange(events, { topic: "mail", account: TEST_ACCOUNT, zone: TEST_ZONE, id: "m1" });
  publishChange(events, { topic: "videos", account: TEST_ACCOUNT, id: "v1" });
  assert.deepEqual(await next(), { event: "change", data: { topic: "mail", id: "m1", zone_id: TEST_ZONE } });
  assert.deepEqual(await next(), { event: "change", data: { topic: "videos", id: "v1" } });
});

test("a client receives only the topics that it requests and may read", async (t) => {
  const caller = callerWith(
    (permission, resource) =>
      permission === "Stream Read" ||
      (permission === "DNS Read" && !("zone" in resource && resource.zone === TEST_ZONE)),
  );
  const { api, events, connect } = await open(t, { caller });
  const all = await connect();
  assert.deepEqual(all.topics.toSorted(), ["dns", "live", "live_metrics", "stream", "videos", "webhooks"]);
  const some = await connect("?topics=videos,mail,dns");
  assert.deepEqual(some.topics, ["videos", "dns"]);
  publishChange(events, { topic: "mail", account: TEST_ACCOUNT, id: "hidden" });
  publishChange(events, { topic: "live", account: TEST_ACCOUNT, id: "unrequested" });
  publishChange(events, { topic: "dns", account: TEST_ACCOUNT, zone: TEST_ZONE, id: "denied zone" });
  publishChange(events, { topic: "videos", account: TEST_ACCOUNT, id: "v1" });
  assert.deepEqual((await some.next())?.data, { topic: "videos", id: "v1" });
  const refused = await api.call("get", `/accounts/${TEST_ACCOUNT}/events`, { query: { topics: "mail,kv" } });
  assert.equal(refused.status, 403);
  const unknown = await api.call("get", `/accounts/${TEST_ACCOUNT}/events`, { query: { topics: "weather" } });
  assert.equal(unknown.status, 400);
});

test("a client reads everything again if too many changes wait for it or events may have been lost", async (t) => {
  const { events, connect } = await open(t, { limits: { waiting: 3, collectMs: 50 } });
  const { next } = await connect();
  for (let n = 0; n < 10; n++) publishChange(events, { topic: "videos", account: TEST_ACCOUNT, id: `v${n}` });
  assert.deepEqual(await next(), { event: "resync", data: {} });
  publishChange(events, { topic: "videos", account: TEST_ACCOUNT, id: "later" });
  assert.deepEqual((await next())?.data, { topic: "videos", id: "later" });
});

test("the account of a change is looked up if the change does not name it", async (t) => {
  const source: LiveEventSource = {
    topic: "videos",
    event: "stream.video",
    ownerOf: async (uid) => (uid === "gone" ? undefined : { account: uid === "v1" ? TEST_ACCOUNT : OTHER_ACCOUNT }),
  };
  const { events, connect } = await open(t, { sources: [source] });
  const { next } = await connect();
  for (const uid of ["gone", "v2", "v1"]) events.publish("stream.video", uid);
  assert.deepEqual((await next())?.data, { topic: "videos", id: "v1" });
});

test("changes are published by the path of the operation, except those on data", async (t) => {
  const { live, connect } = await open(t);
  const { next } = await connect();
  const rule = "/zones/{zone_id}/email/routing/rules/{rule_identifier}";
  await live.publish({ method: "get", path: rule }, { zone_id: TEST_ZONE, rule_identifier: "r0" });
  await live.publish({ method: "put", path: rule }, { zone_id: TEST_ZONE, rule_identifier: "r1" });
  assert.deepEqual((await next())?.data, { topic: "routing", id: "r1", zone_id: TEST_ZONE });
  const namespaces = "/accounts/{account_id}/storage/kv/namespaces";
  await live.publish(
    { method: "put", path: `${namespaces}/{namespace_id}/values/{key_name+}` },
    { account_id: TEST_ACCOUNT, namespace_id: "n1", key_name: "k" },
  );
  await live.publish({ method: "post", path: namespaces }, { account_id: TEST_ACCOUNT });
  assert.deepEqual((await next())?.data, { topic: "kv", id: "" });
  // A zone that no longer exists has no account.
  await live.publish({ method: "delete", path: "/zones/{zone_id}" }, { zone_id: "f".repeat(32) });
  await live.publish(
    { method: "delete", path: "/accounts/{account_id}/stream/{identifier}" },
    { account_id: TEST_ACCOUNT, identifier: "v1" },
  );
  assert.deepEqual((await next())?.data, { topic: "videos", id: "v1" });
});

test("limits the connections of an account, and accepts new ones after others have closed", async (t) => {
  const { api, connect } = await open(t, { limits: { clientsPerAccount: 2 } });
  const first = await connect();
  await connect();
  const refused = await api.call("get", `/accounts/${TEST_ACCOUNT}/events`);
  assert.deepEqual([refused.status, refused.body.errors[0].code], [429, 971]);
  first.stop();
  for (;;) {
    const response = await fetch(`${api.url}/accounts/${TEST_ACCOUNT}/events`, {
      headers: { authorization: `Bearer ${TEST_TOKEN}` },
    });
    await response.body!.cancel();
    if (response.status === 200) break;
  }
});

test("ends a connection when the token loses its permissions, and at the end of the connection's lifetime", async (t) => {
  let isValid = true;
  const { connect } = await open(t, {
    limits: { heartbeatMs: 10 },
    authenticateAgain: async () => (isValid ? unrestrictedCaller : undefined),
  });
  const { next } = await connect();
  isValid = false;
  assert.equal(await next(), undefined);
  const aged = await (await open(t, { limits: { heartbeatMs: 10, lifetimeMs: 0 } })).connect();
  assert.equal(await aged.next(), undefined);
});

test("ends all connections when the server stops, and accepts no new ones", async (t) => {
  const { api, connect, close } = await open(t);
  const { next } = await connect();
  close();
  assert.equal(await next(), undefined);
  assert.equal((await api.call("get", `/accounts/${TEST_ACCOUNT}/events`)).status, 429);
});
