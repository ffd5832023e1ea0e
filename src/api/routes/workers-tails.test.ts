import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { onEveryDatabase } from "../../../test/support/databases.ts";
import { createManualClock, randomIds, silentLog } from "../../kernel/index.ts";
import { createLocalEvents } from "../../store/index.ts";
import { type Script } from "../../workers/index.ts";
import { tailMigrations, createTails } from "../../workers/tails/index.ts";
import { startApi, TEST_ACCOUNT } from "../api.testing.ts";
import { createClientAddress } from "../../kernel/client-address.ts";
import { workersTailsRoutes } from "./workers-tails.ts";

onEveryDatabase((engine) => {
  async function open(t: TestContext, options: { publicUrl?: string; trusted?: string[] } = {}) {
    const ends: (() => Promise<void>)[] = [];
    const { db } = await engine.open({ after: (end) => void ends.push(end) }, tailMigrations);
    const events = createLocalEvents({ log: silentLog });
    const tails = createTails({
      db,
      events,
      clock: createManualClock(Date.UTC(2026, 10, 20)),
      ids: randomIds,
      log: silentLog,
    });
    t.after(async () => {
      await tails.close();
      await events.close();
      for (const end of ends) await end();
    });
    const scripts = {
      get: async (account: string, name: string) =>
        account === TEST_ACCOUNT && name === "mailer" ? ({ name } as Script) : undefined,
    };
    const { call, url } = await startApi(t, {
      routes: workersTailsRoutes({
        tails,
        scripts,
        address: createClientAddress(options.trusted ?? []),
        ...(options.publicUrl !== undefined && { publicUrl: options.publicUrl }),
      }),
    });
    return { call, host: new URL(url).host, tails };
  }
  const PATH = `/accounts/${TEST_ACCOUNT}/workers/scripts/mailer/tails`;

  test("a tail is started, listed and deleted", async (t) => {
    const { call, host } = await open(t);
    const none = await call("get", PATH);
    assert.deepEqual([none.status, none.body.errors[0].code], [404, 10057]);
    // wrangler sends JSON with the content type text/plain.
    const { status, body } = await call("post", PATH, {
      body: JSON.stringify({ filters: [] }),
      headers: { "content-type": "text/plain;charset=UTF-8" },
    });
    assert.equal(status, 200);
    const { id, url, expires_at } = body.result;
    assert.match(id, /^[0-9a-f]{32}$/);
    assert.equal(url, `ws://${host}/client/v4/tails/${id}`);
    assert.equal(expires_at, "2026-11-20T06:00:00.000Z");
    const listed = await call("get", PATH);
    assert.deepEqual([listed.body.result, listed.body.result_info], [body.result, { count: 1, total_count: 1 }]);
    assert.deepEqual((await call("delete", `${PATH}/${id}`)).body, {
      success: true,
      errors: [],
      messages: [],
      result: null,
    });
    const gone = await call("delete", `${PATH}/${id}`);
    assert.deepEqual([gone.status, gone.body.errors[0].code], [404, 10057]);
  });

  test("validates filters, and resolves `self` to the client's address", async (t) => {
    const { call } = await open(t);
    const filters = [
      { outcome: ["exception", "exceededCpu", "exceededMemory", "unknown"] },
      { sampling_rate: 0.5 },
      { method: ["GET"] },
      { header: { key: "X-Word", query: "a" } },
      { client_ip: ["self"] },
      { query: "word" },
      { scriptVersion: "023e105f-4ece-4ad9-8a31-a8372d0c3530" },
    ];
    assert.equal((await call("post", PATH, { body: { filters } })).status, 200);
    const refused = await call("post", PATH, { body: { filters: [{ colour: "red" }] } });
    assert.deepEqual(
      [refused.status, refused.body.errors[0].code, refused.body.errors[0].message],
      [400, 10001, 'Invalid tail filter: there is no filter "colour"'],
    );
    assert.equal((await call("post", PATH)).status, 200);
  });

  test("an unknown worker has no tails, and a worker has at most ten", async (t) => {
    const { call } = await open(t);
    const missing = PATH.replace("mailer", "nobody");
    for (const method of ["get", "post"])
      assert.deepEqual(
        (({ status, body }) => [status, body.errors[0].code])(await call(method, missing)),
        [404, 10007],
      );
    for (let i = 0; i < 10; i++) assert.equal((await call("post", PATH)).status, 200);
    assert.deepEqual((({ status, body }) => [status, body.errors[0].code])(await call("post", PATH)), [429, 10058]);
  });

  test("the tail URL has the host through which the client reached the server", async (t) => {
    const behind = await open(t, { trusted: ["127.0.0.0/8"] });
    assert.match(
      (await behind.call("post", PATH, { headers: { "x-forwarded-proto": "https" } })).body.result.url,
      /^wss:\/\/127\.0\.0\.1:/,
    );
    const named = await open(t, { publicUrl: "https://api.example.com/" });
    assert.match(
      (await named.call("post", PATH)).body.result.url,
      /^wss:\/\/api\.example\.com\/client\/v4\/tails\/[0-9a-f]{32}$/,
    );
    const plain = await open(t);
    assert.match(
      (await plain.call("post", PATH, { headers: { "x-forwarded-proto": "https" } })).body.result.url,
      /^ws:/,
    );
  });
});
