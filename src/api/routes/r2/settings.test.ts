import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { TEST_ACCOUNT } from "../../api.testing.ts";
import { QUEUE, startStorageApi, ZONE } from "../storage.testing.ts";

const buckets = `/accounts/${TEST_ACCOUNT}/r2/buckets`;
const events = `/accounts/${TEST_ACCOUNT}/event_notifications/r2/bucket/configuration`;

async function start(t: TestContext) {
  const started = await startStorageApi(t);
  await started.call("post", buckets, { body: { name: "bucket" } });
  const { id } = (await started.r2.bucketList.get(TEST_ACCOUNT, "bucket"))!;
  const call = async (method: string, path: string, body?: unknown) => {
    const response = await started.call(method, path, body === undefined ? {} : { body });
    return { status: response.status, result: response.body.result, code: response.body.errors?.[0]?.code };
  };
  return { ...started, call, id };
}

test("the CORS policy is stored as sent and can be deleted", async (t) => {
  const { call } = await start(t);
  const path = `${buckets}/bucket/cors`;
  const rules = [
    { id: "a", allowed: { methods: ["GET"], origins: ["https://a.example"], headers: ["*"] }, maxAgeSeconds: 5 },
  ];
  assert.deepEqual(await call("get", path), { status: 404, result: null, code: 10059 });
  assert.deepEqual(await call("put", path, { rules }), { status: 200, result: {}, code: undefined });
  assert.deepEqual((await call("get", path)).result, { rules });
  assert.equal((await call("put", path, { rules: [{ allowed: { methods: ["PATCH"], origins: ["*"] } }] })).status, 400);
  assert.equal(
    (await call("put", path, { rules: [{ allowed: { methods: ["GET"], origins: ["a.example"] } }] })).status,
    400,
  );
  assert.equal((await call("delete", path)).status, 200);
  assert.equal((await call("get", path)).status, 404);
  assert.equal((await call("get", `${buckets}/none/cors`)).code, 10006);
});

test("lifecycle rules replace the default rule", async (t) => {
  const { call } = await start(t);
  const path = `${buckets}/bucket/lifecycle`;
  assert.equal((await call("get", path)).result.rules[0].abortMultipartUploadsTransition.condition.maxAge, 604_800);
  const rules = [
    {
      id: "old",
      enabled: true,
      conditions: { prefix: "logs/" },
      deleteObjectsTransition: { condition: { type: "Date", date: "2030-01-01" } },
      storageClassTransitions: [{ condition: { type: "Age", maxAge: 86_400 }, storageClass: "InfrequentAccess" }],
    },
  ];
  assert.equal((await call("put", path, { rules })).status, 200);
  assert.deepEqual((await call("get", path)).result, { rules });
  const bad = { ...rules[0], deleteObjectsTransition: { condition: { type: "Age", maxAge: -1 } } };
  assert.equal((await call("put", path, { rules: [bad] })).status, 400);
  assert.equal((await call("put", path, { rules: [] })).status, 200);
  assert.deepEqual((await call("get", path)).result, { rules: [] });
});

test("a bucket can be public on its managed host and on domains in the account's zones", async (t) => {
  const { call, id, r2 } = await start(t);
  const managed = `${buckets}/bucket/domains/managed`;
  const managedDomain = (enabled: boolean) => ({ bucketId: id, domain: `pub-${id}.public.test`, enabled });
  assert.deepEqual((await call("get", managed)).result, managedDomain(false));
  assert.deepEqual((await call("put", managed, { enabled: true })).result, managedDomain(true));
  assert.deepEqual((await call("get", managed)).result, managedDomain(true));

  const custom = `${buckets}/bucket/domains/custom`;
  const add = (domain: string, zoneId = ZONE.id) => call("post", custom, { domain, zoneId, enabled: true });
  assert.equal((await add("CDN.example.com")).result.domain, "cdn.example.com");
  assert.deepEqual(await r2.settings.findBucketByDomain("cdn.example.com"), { id, account: TEST_ACCOUNT });
  assert.deepEqual((await call("get", custom)).result.domains, [
    {
      domain: "cdn.example.com",
      enabled: true,
      status: { ownership: "pending", ssl: "unknown" },
      minTLS: "1.0",
      zoneId: ZONE.id,
      zoneName: "example.com",
    },
  ]);
  assert.equal((await add("cdn.example.com")).status, 409);
  for (const [domain, zone] of [
    ["cdn.example.org", ZONE.id],
    ["xexample.com", ZONE.id],
    ["b.example.com", "0".repeat(32)],
    ["api.example.com", ZONE.id],
    ["a b.example.com", ZONE.id],
    ["shop.example.com", ZONE.id],
    ["cdn.shop.example.com", ZONE.id],
  ] as const)
    assert.equal((await add(domain, zone)).status, 400, domain);
  const domainPath = `${custom}/cdn.example.com`;
  assert.equal((await call("put", domainPath, { enabled: false })).result.enabled, false);
  assert.equal(await r2.settings.findBucketByDomain("cdn.example.com"), undefined);
  assert.equal((await call("get", domainPath)).result.enabled, false);
  assert.deepEqual((await call("delete", domainPath)).result, { domain: "cdn.example.com" });
  assert.equal((await call("get", domainPath)).status, 404);
});

test("event notification rules are added, listed and deleted per queue", async (t) => {
  const { call } = await start(t);
  const queue = `${events}/queues/${QUEUE.id}`;
  assert.deepEqual((await call("get", events)).result, { bucketName: "bucket", queues: [] });
  assert.equal((await call("get", queue)).code, 11_015);
  assert.equal(
    (await call("put", queue, { rules: [{ actions: ["PutObject"], prefix: "a/", description: "d" }] })).status,
    200,
  );
  assert.equal((await call("put", queue, { rules: [{ actions: ["DeleteObject", "LifecycleDeletion"] }] })).status, 200);
  const { queueName, rules } = (await call("get", queue)).result;
  assert.deepEqual(
    [
      queueName,
      rules.map(({ actions, prefix, description }: Record<string, unknown>) => [actions, prefix, description]),
    ],
    [
      "events",
      [
        [["PutObject"], "a/", "d"],
        [["DeleteObject", "LifecycleDeletion"], undefined, undefined],
      ],
    ],
  );
  assert.equal((await call("put", queue, { rules: [{ actions: ["Other"] }] })).status, 400);
  assert.equal(
    (await call("put", `${events}/queues/${"0".repeat(32)}`, { rules: [{ actions: ["PutObject"] }] })).code,
    11_000,
  );
  assert.equal((await call("delete", queue, { ruleIds: ["none"] })).status, 404);
  assert.equal((await call("delete", queue, { ruleIds: [rules[0].ruleId] })).status, 200);
  assert.equal((await call("get", events)).result.queues[0].rules.length, 1);
  assert.equal((await call("delete", queue)).status, 200);
  assert.deepEqual((await call("get", events)).result.queues, []);
});
