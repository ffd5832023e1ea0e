import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sendHttpRequest, createApi, TOKEN } from "../e2e/serve-client.ts";
import { spawnServe, temporaryFolder } from "../support/serve.ts";
import { killRepeatedly } from "./durable-objects/kills.ts";

const onLinux = { skip: process.platform !== "linux" && "needs /proc" };

test("a kill -9 of workerd or the server loses no acknowledged write of a Durable Object", onLinux, async (t) => {
  const figures = await killRepeatedly(t, { rounds: 4, perRound: 60 });
  t.diagnostic(JSON.stringify(figures));
  assert.deepEqual([figures.lost, figures.duplicated], [0, 0], JSON.stringify(figures));
  assert.ok(figures.acknowledged >= 240 && figures.alarms > 0, JSON.stringify(figures));
});

const ALARM = `
import { DurableObject } from "cloudflare:workers";
export class Clock extends DurableObject {
  async set(ms) { await this.ctx.storage.setAlarm(Date.now() + Number(ms)); return "set"; }
  async alarm() { await this.env.SEEN.put("fired", String(Date.now())); }
}
export default { async fetch(request, env) {
  const [, ms] = new URL(request.url).pathname.split("/");
  return new Response(await env.CLOCK.getByName("a").set(ms));
} };`;

test("an alarm fires without a request after a kill -9 of the server", async (t) => {
  const dataDirectory = await temporaryFolder(t);
  const env = { REELPOST_API_TOKEN: TOKEN };
  const killedServer = await spawnServe(t, { dataDirectory, env });
  const api = createApi(killedServer.ready, TOKEN);
  const { id } = await api.ok("post", "storage/kv/namespaces", { body: { title: "seen" } });
  await api.deploy("clocks", ALARM, {
    bindings: [
      { type: "kv_namespace", name: "SEEN", namespace_id: id },
      { type: "durable_object_namespace", name: "CLOCK", class_name: "Clock" },
    ],
    migrations: { new_tag: "v1", steps: [{ new_sqlite_classes: ["Clock"] }] },
  });
  assert.equal((await sendHttpRequest(killedServer.ready, "/2000", { host: "clocks.main.localhost" })).body, "set");
  killedServer.child.kill("SIGKILL");
  await killedServer.exited;
  const newServer = await spawnServe(t, { dataDirectory, env });
  const newApi = createApi(newServer.ready, TOKEN);
  for (let status = 404; status !== 200; await sleep(100))
    ({ status } = await newApi.call("get", `storage/kv/namespaces/${id}/values/fired`));
});
