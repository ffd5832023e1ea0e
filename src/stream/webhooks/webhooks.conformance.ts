import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { createGuardedFetch } from "../../kernel/guarded-fetch.ts";
import { createManualClock, randomIds, silentLog } from "../../kernel/index.ts";
import { createJobs, createLocalEvents, createSecrets, jobsMigrations } from "../../store/index.ts";
import { showVideo } from "../videos/show.ts";
import { createStreamUrls } from "../videos/urls.ts";
import { refusal, testVideo } from "../videos/videos.testing.ts";
import { WEBHOOK_ATTEMPTS, RETRY_MS } from "./attempt.ts";
import type { WebhookDelivery } from "./types.ts";
import { createWebhooks, type WebhooksDeps } from "./webhooks.ts";
import { webhooksMigrations } from "./webhooks-table.ts";

const [A, B] = ["a".repeat(32), "b".repeat(32)];
/** On timeout, the failure message contains the actual state. */
const PATIENCE_MS = 60_000;
const PAGE = { page: 1, perPage: 100 };

interface Received {
  path: string;
  signature: string;
  type: string;
  body: string;
}

/** Starts a third-party server that responds as specified by `answer`. */
async function listen(t: TestContext) {
  const received: Received[] = [];
  const state = { answer: { status: 200, body: "thanks", headers: {} as Record<string, string> } };
  let arrived = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request
      .on("data", (part: Buffer) => parts.push(part))
      .on("end", () => {
        received.push({
          path: request.url!,
          signature: String(request.headers["webhook-signature"]),
          type: String(request.headers["content-type"]),
          body: Buffer.concat(parts).toString(),
        });
        response.writeHead(state.answer.status, state.answer.headers).end(state.answer.body);
        arrived.resolve();
        arrived = Promise.withResolvers();
      });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  t.after(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, received, state };
}

async function open(t: TestContext, engine: TestEngine, more: Partial<WebhooksDeps> = {}) {
  // Hooks run in order of registration, and the worker must stop before its database closes: otherwise it would retry
  // writing the outcome of a running delivery, and its waits between retries would never end because the test clock has
  // stopped.
  let close = async () => {};
  t.after(() => close());
  const { db } = await engine.open(t, [...jobsMigrations, ...webhooksMigrations]);
  const clock = createManualClock(Date.UTC(2026, 10, 21));
  const events = createLocalEvents({ log: silentLog });
  const jobs = createJobs({ db, clock, ids: randomIds, events, log: silentLog });
  const urls = createStreamUrls({ deliveryDomain: "", base: () => "http://127.0.0.1:8787" });
  const webhooks = createWebhooks({
    db,
    jobs,
    secrets: createSecrets({ keys: [Buffer.alloc(32, 7)] }),
    clock,
    ids: randomIds,
    log: silentLog,
    urls,
    fetch: createGuardedFetch({ allowPrivate: true }),
    allowPrivate: true,
    ...more,
  });
  close = async () => {
    await webhooks.close();
    await events.close();
  };
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const jobsNow = () => db.tables<{ jobs: { status: string } }>().selectFrom("jobs").selectAll().execute();
  const running = async () => (await jobsNow()).some(({ status }) => status === "running");
  /** Resolves with the newest delivery, once it satisfies the condition and no job is processing it. */
  async function until(endpoint: string, is: (delivery: WebhookDelivery) => boolean): Promise<WebhookDelivery> {
    const begun = performance.now();
    for (let last = begun, now = begun; ; last = now) {
      const [delivery] = (await webhooks.deliveries(A, endpoint, PAGE)).items;
      const works = await running();
      if (delivery !== undefined && is(delivery) && !works) return delivery;
      // The worker polls for jobs. While a job runs, the test clock follows real time: a response takes a moment, and
      // timers must not hang forever.
      now = performance.now();
      if (now - begun > PATIENCE_MS)
        assert.fail(
          `timed out after ${PATIENCE_MS} ms: ${JSON.stringify({ now: clock.now(), delivery, jobs: await jobsNow() })}`,
        );
      clock.advance(works ? Math.ceil(now - last) : 100);
      await turn();
    }
  }
  return { webhooks, clock, urls, until, db };
}

export function webhooksConformance(engine: TestEngine): void {
  test("a processed video is reported once, with a valid signature", async (t) => {
    const there = await listen(t);
    const { webhooks, urls, until } = await open(t, engine);
    webhooks.start();
    const endpoint = await webhooks.setMain(A, there.url);
    const video = testVideo({ state: "ready", pctComplete: 100, meta: { name: "ö" } });
    await webhooks.onVideoSettled(video);
    const delivery = await until(endpoint.id, ({ status }) => status === "delivered");
    await webhooks.onVideoSettled(video);
    assert.equal(there.received.length, 1);
    const { body, signature, type, path } = there.received[0]!;
    assert.deepEqual(
      [JSON.parse(body), type, path],
      [JSON.parse(JSON.stringify(showVideo(video, urls))), "application/json", "/hook"],
    );
    const [, time, sig1] = /^time=(\d+),sig1=([0-9a-f]{64})$/.exec(signature)!;
    assert.equal(sig1, createHmac("sha256", endpoint.secret).update(`${time}.${body}`).digest("hex"));
    assert.deepEqual(
      delivery.attempts.map(({ status, error, response }) => [status, error, response]),
      [[200, null, "thanks"]],
    );
    assert.deepEqual([delivery.video, delivery.event, delivery.payload], [video.uid, "ready", body]);
    await webhooks.onVideoSettled({ ...video, account: B });
    assert.equal((await webhooks.deliveries(A, endpoint.id, PAGE)).total, 1);
  });

  test("a failed delivery is retried for a day, signed at each attempt, and can be replayed", async (t) => {
    const there = await listen(t);
    const { webhooks, until, clock } = await open(t, engine);
    webhooks.start();
    const endpoint = await webhooks.setMain(A, there.url);
    there.state.answer = { status: 500, body: "x".repeat(5000), headers: {} };
    await webhooks.onVideoSettled(testVideo({ state: "error" }));
    const start = clock.now();
    for (const [index, wait] of RETRY_MS.entries()) {
      await until(endpoint.id, ({ attempts }) => attempts.length === index + 1);
      clock.advance(wait);
    }
    const failed = await until(endpoint.id, ({ status }) => status === "failed");
    assert.equal(failed.attempts.length, WEBHOOK_ATTEMPTS);
    const total = RETRY_MS.reduce((sum, ms) => sum + ms, 0);
    assert.ok(total > 23 * 3_600_000 && total <= 24 * 3_600_000);
    assert.ok(clock.now() - start >= total, `${clock.now() - start} < ${total}`);
    assert.deepEqual(
      [failed.event, failed.attempts[3]!.status, failed.attempts[3]!.error, failed.attempts[3]!.response.length],
      ["error", 500, "it responded with status 500", 500],
    );
    assert.equal(there.received.length, WEBHOOK_ATTEMPTS);
    assert.equal(new Set(there.received.map(({ body }) => body)).size, 1);
    assert.ok(new Set(there.received.map(({ signature }) => signature)).size > WEBHOOK_ATTEMPTS / 2);
    there.state.answer = { status: 204, body: "", headers: {} };
    const again = await webhooks.replay(A, endpoint.id, failed.id);
    assert.notEqual(again.id, failed.id);
    const delivered = await until(endpoint.id, ({ status }) => status === "delivered");
    assert.deepEqual([delivered.id, delivered.payload, delivered.event], [again.id, failed.payload, "error"]);
    assert.match(await refusal(webhooks.replay(A, endpoint.id, "f".repeat(32))), /^deliveryNotFound/);
    assert.match(await refusal(webhooks.replay(B, endpoint.id, failed.id)), /^webhookNotFound/);
  });

  test("redirects are not followed, and unresponsive servers time out", async (t) => {
    const there = await listen(t);
    const { webhooks } = await open(t, engine);
    const moved = await webhooks.create(A, there.url);
    there.state.answer = { status: 302, body: "", headers: { location: "http://169.254.169.254/" } };
    const redirected = await webhooks.test(A, moved.id);
    assert.deepEqual(
      [redirected.status, redirected.event, redirected.attempts[0]!.status, redirected.attempts[0]!.error],
      ["failed", "test", 302, "it responded with a redirect, which is not followed"],
    );
    const closed = await webhooks.create(A, "http://127.0.0.1:1/");
    const refused = (await webhooks.test(A, closed.id)).attempts[0]!;
    assert.equal(refused.status, null);
    assert.match(refused.error!, /cannot be reached|bad port|ECONNREFUSED/);
  });

  test("webhooks cannot reach the internal network, however a name resolves", async (t) => {
    const there = await listen(t);
    const fetch = createGuardedFetch({ allowPrivate: false, lookup: async () => ["127.0.0.1"] });
    const { webhooks } = await open(t, engine, { fetch, allowPrivate: false });
    for (const url of [
      "http://localhost/",
      "http://a.localhost:8787/",
      there.url,
      "http://[::1]/",
      "http://10.0.0.1/",
      "http://0x7f.1/",
      "http://169.254.169.254/latest",
      "ftp://example.com/",
      "example.com",
      "http://user:pass@example.com/",
      "http://example.com:25/",
      "",
    ]) {
      assert.match(await refusal(webhooks.setMain(A, url)), /^invalidUrl: Invalid URL: /, url);
    }
    const rebinding = await webhooks.create(A, `http://rebind.example:${new URL(there.url).port}/hook`);
    const { status, attempts } = await webhooks.test(A, rebinding.id);
    assert.equal(status, "failed");
    assert.match(attempts[0]!.error!, /does not resolve to a public IP address/);
    assert.equal(there.received.length, 0);
  });

  test("an account has one main webhook and additional ones, and cannot access those of other accounts", async (t) => {
    const { webhooks, clock, db } = await open(t, engine);
    assert.match(await refusal(webhooks.main(A)), /^webhookNotFound: Not Found/);
    const main = await webhooks.setMain(A, "https://example.com/hook");
    assert.match(main.secret, /^[0-9a-f]{32}$/);
    clock.advance(1000);
    const moved = await webhooks.setMain(A, "https://example.com/moved");
    assert.deepEqual(moved, { ...main, url: "https://example.com/moved", modified: clock.now() });
    assert.deepEqual(await webhooks.main(A), moved);
    const rows = await db
      .tables<{ stream_webhooks: { secret: string } }>()
      .selectFrom("stream_webhooks")
      .select("secret")
      .execute();
    assert.equal(rows.length, 1);
    assert.ok(!rows[0]!.secret.includes(main.secret), "the secret is encrypted");
    const more = [];
    for (let i = 0; i < 10; i++) {
      clock.advance(1);
      more.push(await webhooks.create(A, `https://${i}.example.com/`));
    }
    assert.match(await refusal(webhooks.create(A, "https://x.example.com/")), /^tooManyWebhooks/);
    await webhooks.create(B, "https://x.example.com/");
    assert.deepEqual(await webhooks.list(A), [moved, ...more]);
    for (const work of [
      () => webhooks.get(B, main.id),
      () => webhooks.delete(B, main.id),
      () => webhooks.deliveries(B, main.id, PAGE),
      () => webhooks.test(B, main.id),
      () => webhooks.get(A, "x\0"),
    ])
      assert.match(await refusal(work()), /^webhookNotFound/);
    await webhooks.delete(A, more[0]!.id);
    await webhooks.deleteMain(A);
    assert.match(await refusal(webhooks.deleteMain(A)), /^webhookNotFound/);
    assert.deepEqual(await webhooks.list(A), more.slice(1));
    assert.notEqual((await webhooks.setMain(A, "https://example.com/hook")).secret, main.secret);
  });

  test("each live event is sent once to subscribed endpoints, and only for the selected inputs", async (t) => {
    const there = await listen(t);
    const { webhooks, until } = await open(t, engine, { liveExample: () => "an example" });
    const [input, other] = ["1".repeat(32), "2".repeat(32)];
    await webhooks.setMain(A, there.url);
    const videos = await webhooks.create(A, there.url);
    const all = await webhooks.create(A, there.url, { topics: ["live", "videos", "live"] });
    const one = await webhooks.create(A, there.url, { topics: ["live"], liveInputs: [input] });
    assert.deepEqual(
      [videos, all, one].map(({ topics, liveInputs }) => [topics, liveInputs]),
      [
        [["videos"], []],
        [["live", "videos"], []],
        [["live"], [input]],
      ],
    );
    webhooks.start();
    for (const _ of [1, 2])
      for (const uid of [input, other])
        await webhooks.liveEvent({
          account: A,
          input: uid,
          type: "live_input.connected",
          occasion: `live ${uid}-1`,
          payload: `{"of":"${uid}"}`,
        });
    await webhooks.liveEvent({
      account: B,
      input,
      type: "live_input.connected",
      occasion: `live ${input}-2`,
      payload: "{}",
    });
    await webhooks.onVideoSettled(testVideo({ state: "ready" }));
    await until(one.id, ({ status }) => status === "delivered");
    const events = async (id: string) =>
      (await webhooks.deliveries(A, id, PAGE)).items.map(({ video, event }) => `${video[0]} ${event}`).toSorted();
    assert.deepEqual(await events(one.id), ["1 live_input.connected"]);
    assert.deepEqual(await events(all.id), ["1 live_input.connected", "2 live_input.connected", "e ready"]);
    assert.deepEqual(await events(videos.id), ["e ready"]);
    assert.equal((await webhooks.deliveries(A, one.id, PAGE)).items[0]!.payload, `{"of":"${input}"}`);
    const tests = [await webhooks.test(A, one.id), await webhooks.test(A, all.id)].map(({ payload }) => payload);
    assert.deepEqual([tests[0], JSON.parse(tests[1]!).uid], ["an example", "0".repeat(32)]);
    for (const about of [
      { topics: [] },
      { liveInputs: ["x"] },
      { liveInputs: Array.from({ length: 1001 }, () => input) },
    ])
      assert.match(await refusal(webhooks.create(A, there.url, about)), /^badParameter/);
  });

  test("many waiting deliveries of one endpoint do not delay those of others", async (t) => {
    const { webhooks, until } = await open(t, engine);
    const { url, received } = await listen(t);
    await webhooks.create(B, `${url}/crowd`, { topics: ["live"] });
    const { id } = await webhooks.setMain(A, `${url}/other`);
    for (let i = 0; i < 100; i++)
      await webhooks.liveEvent({
        account: B,
        input: "1".repeat(32),
        type: "live_input.connected",
        occasion: `event ${i}`,
        payload: "{}",
      });
    await webhooks.onVideoSettled(testVideo({ account: A }));
    webhooks.start();
    await until(id, ({ status }) => status === "delivered");
    const place = received.findIndex(({ path }) => path.endsWith("/other"));
    assert.ok(place >= 0 && place < 40, `delivered after ${place} others`);
  });

  test("the last hundred completed deliveries are stored, and listed by page", async (t) => {
    const there = await listen(t);
    const { webhooks, clock } = await open(t, engine);
    const { id } = await webhooks.create(A, there.url);
    await webhooks.onVideoSettled(testVideo({ state: "ready" }));
    for (let i = 0; i < 105; i++) {
      clock.advance(1);
      await webhooks.test(A, id);
    }
    const first = await webhooks.deliveries(A, id, { page: 1, perPage: 60 });
    const second = await webhooks.deliveries(A, id, { page: 2, perPage: 60 });
    assert.deepEqual(
      [first.items.length, second.items.length, (await webhooks.deliveries(A, id, { page: 3, perPage: 60 })).items],
      [60, 42, []],
    );
    assert.equal(
      second.items.at(-1)!.status,
      "waiting",
      "a waiting delivery is not removed in favour of finished ones",
    );
    assert.ok(first.items[0]!.created > first.items[1]!.created);
  });

  test("a delivery without a job is resumed, and fails once it has expired", async (t) => {
    const there = await listen(t);
    const { webhooks, clock, db, until } = await open(t, engine);
    const { id } = await webhooks.create(A, there.url);
    await webhooks.onVideoSettled(testVideo({ state: "ready" }));
    const forgetJobs = () => db.write(db.tables<{ jobs: object }>().deleteFrom("jobs"));
    await forgetJobs();
    await webhooks.recover();
    clock.advance(60_000);
    await webhooks.recover();
    await forgetJobs();
    clock.advance(4 * 86_400_000);
    await webhooks.recover();
    assert.equal((await webhooks.deliveries(A, id, PAGE)).items[0]!.status, "failed");
    await webhooks.onVideoSettled(testVideo({ state: "error" }));
    await forgetJobs();
    clock.advance(60_000);
    await webhooks.recover();
    webhooks.start();
    assert.equal((await until(id, ({ status }) => status === "delivered")).event, "error");
    assert.equal(there.received.length, 1);
  });

  test("shutdown completes even while a delivery is running", async (t) => {
    const there = await listen(t);
    const { webhooks, db } = await open(t, engine);
    webhooks.start();
    await webhooks.setMain(A, there.url);
    await webhooks.onVideoSettled(testVideo({ state: "ready" }));
    const jobs = () => db.tables<{ jobs: { status: string } }>().selectFrom("jobs").selectAll().execute();
    // Before its request arrives, the delivery may be claimed but not started, and would be released.
    while (there.received.length === 0) await new Promise(setImmediate);
    await webhooks.close();
    assert.deepEqual(
      (await jobs()).map(({ status }) => status),
      ["done"],
    );
  });
}
