import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { createGuardedFetch } from "../../../kernel/guarded-fetch.ts";
import { randomIds, silentLog } from "../../../kernel/index.ts";
import { createSecrets } from "../../../store/index.ts";
import { createWebhooks } from "../../../stream/webhooks/index.ts";
import { startApi, TEST_ACCOUNT } from "../../api.testing.ts";
import { openVideos, testModel } from "./videos.testing.ts";
import { streamWebhookRoutes } from "./webhook.ts";

const MAIN = `/accounts/${TEST_ACCOUNT}/stream/webhook`;
const LIST = `${MAIN}/endpoints`;

async function open(t: TestContext) {
  const reported: string[] = [];
  const world = await openVideos(t);
  const secrets = createSecrets({ keys: [Buffer.alloc(32, 7)] });
  const fetch = createGuardedFetch({ allowPrivate: false, lookup: async () => ["127.0.0.1"] });
  const webhooks = createWebhooks({ ...world, secrets, ids: randomIds, log: silentLog, fetch, allowPrivate: false });
  world.videos.onSettled(async (video) => {
    reported.push(video.uid);
    await webhooks.onVideoSettled(video);
  });
  const api = await startApi(t, { routes: streamWebhookRoutes({ webhooks }) });
  return { ...world, call: api.call, reported };
}

test("the account's webhook is set, changed, shown and deleted", async (t) => {
  const { call } = await open(t);
  const missing = await call("GET", MAIN);
  assert.deepEqual(
    [missing.status, missing.body.errors[0].code, missing.body.errors[0].message],
    [404, 10003, "Not Found"],
  );
  const { result } = (await call("PUT", MAIN, { body: { notificationUrl: "https://example.com/a" } })).body;
  assert.deepEqual(result, {
    notificationUrl: "https://example.com/a",
    notification_url: "https://example.com/a",
    modified: "2026-11-21T00:00:00.000Z",
    secret: result.secret,
  });
  assert.match(result.secret, /^[0-9a-f]{32}$/);
  const moved = (await call("PUT", MAIN, { body: { notification_url: "http://example.com/b" } })).body.result;
  assert.deepEqual(moved, {
    ...result,
    notificationUrl: "http://example.com/b",
    notification_url: "http://example.com/b",
  });
  assert.deepEqual((await call("GET", MAIN)).body.result, moved);
  for (const [body, code] of [
    [{}, 10005],
    [{ notificationUrl: "" }, 10010],
    [{ notificationUrl: "example.com" }, 10010],
    [{ notificationUrl: "http://127.0.0.1/" }, 10010],
    [{ notificationUrl: 5 }, 10005],
  ] as const) {
    const refused = await call("PUT", MAIN, { body });
    assert.deepEqual([refused.status, refused.body.errors[0].code], [400, code], JSON.stringify(body));
  }
  assert.equal((await call("DELETE", MAIN)).body.result, "ok");
  assert.equal((await call("DELETE", MAIN)).status, 404);
});

test("additional webhooks list their deliveries and redeliver them", async (t) => {
  const { call, videos, reported } = await open(t);
  await call("PUT", MAIN, { body: { notificationUrl: "https://main.example.com/" } });
  const more = (await call("POST", LIST, { body: { notificationUrl: "https://more.example.com/" } })).body.result;
  assert.deepEqual(
    (await call("GET", LIST)).body.result.map(
      ({ main, notificationUrl }: { main: boolean; notificationUrl: string }) => [main, notificationUrl],
    ),
    [
      [true, "https://main.example.com/"],
      [false, "https://more.example.com/"],
    ],
  );
  assert.deepEqual((await call("GET", LIST, { query: { page: 2 } })).body.result, []);
  const ONE = `${LIST}/${more.id}`;
  assert.deepEqual((await call("GET", ONE)).body.result, more);
  assert.deepEqual([more.topics, more.liveInputs], [["videos"], []]);
  const live = (
    await call("POST", LIST, {
      body: { notificationUrl: "https://live.example.com/", topics: ["live"], liveInputs: ["1".repeat(32)] },
    })
  ).body.result;
  assert.deepEqual([live.topics, live.liveInputs], [["live"], ["1".repeat(32)]]);
  for (const body of [{ topics: [] }, { topics: ["mail"] }, { liveInputs: ["x"] }])
    assert.equal(
      (await call("POST", LIST, { body: { notificationUrl: "https://x.example.com/", ...body } })).body.errors[0].code,
      10005,
    );

  const { uid } = await videos.create(TEST_ACCOUNT, { meta: { name: "x" } });
  await videos.uploaded(uid, { key: "k", size: 1 });
  await videos.modelled(uid, testModel(5));
  await videos.finished(uid);
  assert.deepEqual(reported, [uid]);
  const sent = (await call("GET", `${ONE}/deliveries`)).body;
  assert.deepEqual(
    [
      sent.result_info.total_count,
      sent.result[0].video,
      sent.result[0].event,
      sent.result[0].status,
      sent.result[0].attempts,
    ],
    [1, uid, "ready", "waiting", []],
  );
  assert.equal(JSON.parse(sent.result[0].body).status.pctComplete, "100.000000");
  const again = (await call("POST", `${ONE}/deliveries/${sent.result[0].id}/replay`)).body.result;
  assert.equal(again.body, sent.result[0].body);
  assert.equal((await call("GET", `${ONE}/deliveries`, { query: { page: 3, per_page: 1 } })).body.result.length, 0);
  const tested = (await call("POST", `${ONE}/test`)).body.result;
  assert.deepEqual([tested.event, tested.status, tested.attempts.length], ["test", "failed", 1]);
  assert.match(tested.attempts[0].error, /more\.example\.com does not resolve to a public IP address/);

  for (const [method, path] of [
    ["GET", `${LIST}/nobody`],
    ["POST", `${LIST}/${"f".repeat(32)}/test`],
    ["POST", `${ONE}/deliveries/nothing/replay`],
    ["GET", `${LIST}/x/deliveries`],
  ] as const)
    assert.equal((await call(method, path)).body.errors[0].code, 10003, path);
  assert.equal((await call("DELETE", ONE)).body.result, "ok");
  assert.equal((await call("GET", ONE)).status, 404);
});
