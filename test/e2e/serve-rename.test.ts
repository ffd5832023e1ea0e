import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { Agent } from "node:http";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startCluster, type Cluster } from "../support/postgres.ts";
import { spawnServe, temporaryFolder } from "../support/serve.ts";
import {
  sendHttpRequest,
  createApi,
  sendMail,
  servePlatform,
  TOKEN,
  type Api,
  type Scope,
  type Target,
} from "./serve-client.ts";

const saying = (word: string) => `
import { DurableObject } from "cloudflare:workers";
export class Counter extends DurableObject {
  async increment() {
    const count = ((await this.ctx.storage.get("count")) ?? 0) + 1;
    await this.ctx.storage.put("count", count);
    return count;
  }
}
export default {
  async fetch(request, env) {
    if (new URL(request.url).pathname === "/count") return new Response(String(await env.COUNTER.getByName("one").increment()));
    await scheduler.wait(3);
    return new Response("${word} " + (env.KEY ?? ""));
  },
  async email(message) { message.setReject("${word}"); },
};`;
/** The first call follows a pause in which the other worker may be renamed. */
const CALLER = `export default {
  async fetch(request, env) {
    await scheduler.wait(20);
    return env.API.fetch(request);
  },
};`;
/** Routes apply only if the server knows the hosts of its API. */
const API_HOST = { REELPOST_API_HOSTS: "api.example.com,127.0.0.1" };
const SECRET = { type: "secret_text", name: "KEY", text: "s3cret" };

/**
 * Creates a route, a mail rule and a caller for the worker "api". Resolves with the id of the zone, and with functions
 * that send one request through each of them.
 */
async function connect(api: Api) {
  const { id: zone } = await api.ok("post", "/zones", { body: { name: "example.com", account: { id: api.account } } });
  await api.ok("post", `/zones/${zone}/workers/routes`, { body: { pattern: "www.example.com/*", script: "api" } });
  await api.ok("post", `/zones/${zone}/email/routing/enable`, { body: {} });
  await api.ok("put", `/zones/${zone}/email/routing/rules/catch_all`, {
    body: { matchers: [{ type: "all" }], actions: [{ type: "worker", value: ["api"] }], enabled: true },
  });
  await api.deploy("caller", CALLER, { bindings: [{ type: "service", name: "API", service: "api" }] });
  const web = async (target: Target, host: string, agent?: Agent) => {
    const { status, body } = await sendHttpRequest(target, "/", { host, ...(agent && { agent }) });
    return `${status} ${body}`;
  };
  const requests = {
    route: (target: Target, agent?: Agent) => web(target, "www.example.com", agent),
    caller: (target: Target, agent?: Agent) => web(target, "caller.main.localhost", agent),
    mail: async (target: Target) =>
      (await sendMail(target, "any@example.com")).text.replace(/^(\d+) .*?(\w+)$/s, "$1 $2"),
  };
  return { zone, requests };
}

test("a worker is renamed under constant traffic: no request fails, and a new worker with the former name inherits nothing", async (t) => {
  const server = await servePlatform(t, { env: API_HOST });
  const api = createApi(server, TOKEN);
  const agent = new Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  const objects = {
    bindings: [SECRET, { type: "durable_object_namespace", name: "COUNTER", class_name: "Counter" }],
    migrations: { new_tag: "v1", steps: [{ new_sqlite_classes: ["Counter"] }] },
  };
  await api.deploy("api", saying("old"), objects);
  const { zone, requests } = await connect(api);
  const count = async () => (await sendHttpRequest(server, "/count", { host: "www.example.com" })).body;
  assert.deepEqual([await count(), await count()], ["1", "2"]);

  const traffic = { on: true, done: 0, wrong: [] as string[] };
  const clients = Object.entries(requests).flatMap(([kind, send]) =>
    [1, 2].map(async () => {
      while (traffic.on) {
        const answer = await send(server, agent).catch((err: Error) => err.message);
        traffic.done++;
        if (answer !== (kind === "mail" ? "555 old" : "200 old s3cret")) traffic.wrong.push(`${kind}: ${answer}`);
      }
    }),
  );
  const { id } = await api.ok("get", "workers/workers/api");
  let name = "api";
  for (let i = 1; i <= 8; i++) {
    const next = `api-${i}`;
    const renamed = await api.ok(i % 2 ? "patch" : "put", `workers/workers/${i % 3 ? name : id}`, {
      body: { name: next },
    });
    assert.deepEqual([renamed.id, renamed.name], [id, next]);
    assert.deepEqual(await api.refused("get", `workers/workers/${name}`), [404, 10007]);
    assert.equal((await sendHttpRequest(server, "/", { host: `${name}.main.localhost` })).status, 404);
    assert.equal((await sendHttpRequest(server, "/", { host: `${next}.main.localhost` })).body, "old s3cret");
    const { done } = traffic;
    while (traffic.done < done + 10) await sleep(5);
    name = next;
  }
  traffic.on = false;
  await Promise.all(clients);
  assert.deepEqual(traffic.wrong, []);
  t.diagnostic(`${traffic.done} requests and messages during 8 renames`);
  assert.equal(await count(), "3", "the Durable Object keeps its data");

  await api.deploy("api", saying("new"), { ...objects, bindings: objects.bindings.slice(1) });
  assert.equal((await sendHttpRequest(server, "/", { host: "api.main.localhost" })).body, "new ");
  assert.equal((await sendHttpRequest(server, "/count", { host: "api.main.localhost" })).body, "1");
  assert.deepEqual(await api.ok("get", "workers/scripts/api/secrets"), []);
  assert.deepEqual(await Promise.all(Object.values(requests).map((send) => send(server))), [
    "200 old s3cret",
    "200 old s3cret",
    "555 old",
  ]);
  assert.deepEqual(
    (await api.ok("get", `/zones/${zone}/workers/routes`)).map(({ script }: { script: string }) => script),
    [name],
  );
  await api.ok("delete", "workers/scripts/api");
  assert.equal(await requests.route(server), "200 old s3cret");
});

describe("two processes on one PostgreSQL", async () => {
  let cluster: Cluster | undefined;
  before(async () => void (cluster = await startCluster()));
  after(() => cluster?.stop());

  async function shared(t: Scope) {
    assert.ok(cluster, "PostgreSQL is not installed");
    return {
      ...API_HOST,
      REELPOST_API_TOKEN: TOKEN,
      REELPOST_DATABASE_URL: await cluster.createDatabase(),
      REELPOST_SECRETS_KEY: randomBytes(32).toString("base64"),
      REELPOST_OBJECTS_DIR: await temporaryFolder(t, "objects"),
    };
  }

  test("no request fails during a rename in another process", async (t) => {
    const env = await shared(t);
    const [one, two] = await Promise.all([spawnServe(t, { env }), spawnServe(t, { env })]);
    const api = createApi(one.ready, TOKEN);
    const other = createApi(two.ready, TOKEN);
    await api.deploy("api", saying("old").replace(/export class[^]*?\n\}/, ""), { bindings: [SECRET] });
    const { requests } = await connect(api);
    const isReady = async (target: Target) => (await requests.route(target)) === "200 old s3cret";
    for (const deadline = Date.now() + 60_000; !(await isReady(two.ready)); await sleep(20))
      assert.ok(Date.now() < deadline, "the route is active in the other process");
    const traffic = { on: true, done: 0, wrong: [] as string[] };
    const clients = [one.ready, two.ready].flatMap((target) =>
      [requests.route, requests.caller].map(async (send) => {
        while (traffic.on) {
          const answer = await send(target).catch((err: Error) => err.message);
          traffic.done++;
          if (answer !== "200 old s3cret") traffic.wrong.push(answer);
        }
      }),
    );
    let name = "api";
    for (let i = 1; i <= 5; i++) {
      const next = `api-${i}`;
      await (i % 2 ? api : other).ok("patch", `workers/workers/${name}`, { body: { name: next } });
      assert.deepEqual(await (i % 2 ? other : api).refused("get", `workers/workers/${name}`), [404, 10007]);
      const { done } = traffic;
      while (traffic.done < done + 10) await sleep(5);
      name = next;
    }
    traffic.on = false;
    await Promise.all(clients);
    assert.deepEqual(traffic.wrong, []);
    for (const each of [one, two]) assert.deepEqual(await each.stop(), { code: 0, signal: null });
  });
});
