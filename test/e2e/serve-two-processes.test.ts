import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startCluster, type Cluster } from "../support/postgres.ts";
import { openEventStream } from "../support/event-stream.ts";
import { spawnServe, temporaryFolder } from "../support/serve.ts";
import { sendHttpRequest, createApi, formOf, sendMail, TOKEN, type Scope } from "./serve-client.ts";

const saying = (word: string) => `export default {
  async fetch(request, env) {
    if (request.method === "PUT") await env.NOTES.put("note", await request.text());
    return new Response("${word} " + env.KEY + " " + await env.NOTES.get("note"));
  },
  email(message) { message.setReject("${word}"); },
};`;

/** Notifications reach the other process after a short delay. */
async function until(done: () => Promise<boolean>, what: string) {
  for (const deadline = Date.now() + 60_000; !(await done()); await sleep(50)) assert.ok(Date.now() < deadline, what);
}

describe("two processes on one PostgreSQL", async () => {
  let cluster: Cluster | undefined;
  before(async () => void (cluster = await startCluster()));
  after(() => cluster?.stop());

  async function shared(t: Scope) {
    assert.ok(cluster, "PostgreSQL is not installed");
    const url = await cluster.createDatabase();
    return {
      REELPOST_API_TOKEN: TOKEN,
      REELPOST_DATABASE_URL: url,
      REELPOST_SECRETS_KEY: randomBytes(32).toString("base64"),
      REELPOST_OBJECTS_DIR: await temporaryFolder(t, "objects"),
    };
  }

  test("deployments, data, revocations and deletions of one process take effect in the other", async (t) => {
    const env = await shared(t);
    // Both start concurrently on an empty database.
    const [one, two] = await Promise.all([spawnServe(t, { env }), spawnServe(t, { env })]);
    assert.equal(one.ready.account!.id, two.ready.account!.id);
    const [a, b] = [createApi(one.ready, TOKEN), createApi(two.ready, TOKEN)];
    const { id: namespace } = await a.ok("post", "storage/kv/namespaces", { body: { title: "notes" } });
    const bindings = [
      { type: "kv_namespace", name: "NOTES", namespace_id: namespace },
      { type: "secret_text", name: "KEY", text: "s3cret" },
    ];
    await a.deploy("pair", saying("first"), { bindings });
    const there = (options = {}) =>
      sendHttpRequest(two.ready, "/", { host: "pair.main.localhost", ...options }).then(({ body }) => body);
    const here = (options = {}) =>
      sendHttpRequest(one.ready, "/", { host: "pair.main.localhost", ...options }).then(({ body }) => body);
    assert.equal(await there({ method: "PUT", body: "from two" }), "first s3cret from two");
    assert.equal(await here(), "first s3cret from two");
    assert.equal((await b.ok("get", "workers/scripts")).length, 1);
    assert.match((await sendMail(two.ready, "pair@main.localhost")).text, /^555 .*first/);

    // The worker runs in both processes; each deployment is announced to the other process.
    for (const [api, word] of [
      [b, "second"],
      [a, "third"],
    ] as const) {
      await api.ok("put", "workers/scripts/pair", {
        body: formOf(saying(word), { bindings: bindings.slice(0, 1), keep_bindings: ["secret_text"] }),
      });
      await until(
        async () => (await here()).startsWith(word) && (await there()).startsWith(word),
        `${word} is live everywhere`,
      );
      assert.equal(
        (await a.ok("get", "workers/scripts/pair/deployments")).deployments[0].id,
        (await b.ok("get", "workers/scripts/pair/deployments")).deployments[0].id,
      );
    }
    const large = "x".repeat(3_000_000);
    await a.ok("put", `storage/kv/namespaces/${namespace}/values/note`, { body: large });
    await until(async () => (await there()).length > large.length, "the large value is visible everywhere");
    assert.equal((await b.call("get", `storage/kv/namespaces/${namespace}/values/note`)).body.length, large.length);

    const { id: reading } = (await a.ok("get", "/user/tokens/permission_groups")).find(
      ({ name }: { name: string }) => name === "Workers Scripts Read",
    );
    const { id, value } = await a.ok("post", "/user/tokens", {
      body: {
        name: "short",
        policies: [
          {
            effect: "allow",
            resources: { [`com.cloudflare.api.account.${a.account}`]: "*" },
            permission_groups: [{ id: reading }],
          },
        ],
      },
    });
    assert.equal((await b.ok("get", "/user/tokens/verify", { token: value })).id, id);
    await a.ok("delete", `/user/tokens/${id}`);
    await until(
      async () => (await b.call("get", "/user/tokens/verify", { token: value })).status === 401,
      "the token is rejected in the other process",
    );

    const { id: zone } = await a.ok("post", "/zones", { body: { name: "example.com", account: { id: a.account } } });
    const record = (content: string) => ({ body: { type: "A", name: "www", content, ttl: 300 } });
    const { id: first } = await a.ok("post", `/zones/${zone}/dns_records`, record("192.0.2.1"));
    const seen = async () =>
      (await b.ok("get", `/zones/${zone}/dns_records`)).map(({ content }: { content: string }) => content).sort();
    assert.deepEqual(await seen(), ["192.0.2.1"]);
    await a.ok("patch", `/zones/${zone}/dns_records/${first}`, { body: { content: "192.0.2.2" } });
    assert.deepEqual(await seen(), ["192.0.2.2"], "a cached response is not served after a change in another process");

    await b.ok("delete", "workers/scripts/pair");
    await until(
      async () => (await sendHttpRequest(one.ready, "/", { host: "pair.main.localhost" })).status === 404,
      "the deleted worker no longer responds",
    );
    for (const each of [one, two]) assert.deepEqual(await each.stop(), { code: 0, signal: null });
    assert.deepEqual(
      [one, two].map((each) =>
        each
          .log()
          .split("\n")
          .filter((line) => /"level":[56]0/.test(line)),
      ),
      [[], []],
    );
  });

  test("a client of one process receives the changes that others make", async (t) => {
    const env = { ...(await shared(t)), REELPOST_AUTHENTICATION_ENABLED: "false" };
    const [one, two] = await Promise.all([spawnServe(t, { env }), spawnServe(t, { env })]);
    const api = createApi(one.ready, TOKEN);
    const { next, stop } = await openEventStream(
      `${two.ready.api}/accounts/${api.account}/events?topics=workers,mail,dns`,
      TOKEN,
    );
    t.after(stop);
    assert.equal((await next())?.event, "open");
    const seen = async (topic: string) => {
      for (;;) {
        const frame = await next();
        assert.ok(frame, `the stream ended before ${topic}`);
        if (frame.data["topic"] === topic) return frame.data;
      }
    };
    await api.deploy("pair", saying("first"), { bindings: [] });
    assert.equal((await seen("workers"))["id"], "pair");
    await sendMail(one.ready, "pair@main.localhost");
    const { id } = await seen("mail");
    assert.equal((await api.ok("get", `email/activity/${String(id)}`)).worker, "pair");
    const zone = (await api.ok("post", "/zones", { body: { name: "example.com", account: { id: api.account } } })).id;
    await api.ok("post", `/zones/${zone}/dns_records`, {
      body: { type: "A", name: "www.example.com", content: "192.0.2.1", ttl: 300 },
    });
    assert.equal((await seen("dns"))["zone_id"], zone);
  });

  test("with separate roles, one process accepts deployments, one runs them, and one accepts mail", async (t) => {
    const env = await shared(t);
    const [front, back, post] = await Promise.all(
      [["api"], ["workers"], ["smtp"]].map((roles) => spawnServe(t, { env, args: ["--roles", roles.join()] })),
    );
    assert.deepEqual(
      [front, back, post].map((each) => [each!.ready.api !== undefined, each!.ready.smtp !== undefined]),
      [
        [true, false],
        [false, false],
        [false, true],
      ],
    );
    const api = createApi(front!.ready, TOKEN);
    const { id: namespace } = await api.ok("post", "storage/kv/namespaces", { body: { title: "notes" } });
    const metadata = {
      bindings: [
        { type: "kv_namespace", name: "NOTES", namespace_id: namespace },
        { type: "secret_text", name: "KEY", text: "s3cret" },
      ],
    };
    const host = "apart.main.localhost";
    await api.deploy("apart", saying("one"), metadata);
    assert.equal((await sendHttpRequest(back!.ready, "/", { host })).body, "one s3cret null");
    assert.equal((await sendHttpRequest(back!.ready, "/workers/apart/")).status, 200);
    assert.match((await sendMail(post!.ready, "apart@main.localhost")).text, /^555 .*one/);
    await api.ok("put", "workers/scripts/apart", { body: formOf(saying("two"), metadata) });
    await until(
      async () => (await sendHttpRequest(back!.ready, "/", { host })).body.startsWith("two"),
      "the deployed version responds",
    );
    // Endpoints of other roles are absent.
    assert.equal((await sendHttpRequest(front!.ready, "/", { host })).status, 404);
    assert.equal((await sendHttpRequest(front!.ready, "/workers/apart/")).status, 404);
    assert.equal((await sendHttpRequest(back!.ready, "/client/v4/user")).status, 404);
    for (const each of [front, back, post]) assert.equal((await sendHttpRequest(each!.ready, "/healthz")).body, "ok\n");
  });

  test("a process of another installation is rejected", async (t) => {
    const env = await shared(t);
    const one = await spawnServe(t, { env });
    const other = { ...env, REELPOST_OBJECTS_DIR: "objects" };
    await assert.rejects(spawnServe(t, { env: other }), /exit code 1.*other_objects/s);
    await assert.rejects(spawnServe(t, { env: { ...env, REELPOST_SECRETS_KEY: "" } }), /exit code 1.*other_key/s);
    await one.stop();
  });
});
