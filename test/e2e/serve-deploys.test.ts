import assert from "node:assert/strict";
import { Agent } from "node:http";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sendHttpRequest, createApi, formOf, sendMail, servePlatform, TOKEN } from "./serve-client.ts";

/** Returns the source of a version that responds with its number over HTTP and SMTP. */
const version = (number: number | string, before = "") => `export default {
  async fetch() { ${before} return new Response("${number}") },
  async email(message) { ${before} if (message.headers.get("subject") === "which") message.setReject("version ${number}") },
};`;

test("no request fails during 25 deploys, rollbacks and secret changes, and every response is from a live version", async (t) => {
  const server = await servePlatform(t);
  const api = createApi(server, TOKEN);
  const agent = new Agent({ keepAlive: true });
  t.after(() => agent.destroy());
  const slow = "await scheduler.wait(3);";
  const { deployment_id: first } = await api.deploy("busy", version(0, slow));
  /** Versions that may respond: from the start of their deployment until the next deployment is acknowledged. */
  const live = new Set(["0"]);
  const traffic = { on: true, http: 0, mail: 0, wrong: [] as string[], met: new Set<string>() };
  const check = (kind: "http" | "mail", good: boolean, number: string | undefined, allowed: Set<string>) => {
    traffic[kind]++;
    if (number !== undefined) traffic.met.add(number);
    if (!good || number === undefined || !(allowed.has(number) || live.has(number)))
      traffic.wrong.push(`${kind}: ${number}, live ${[...live].join()}`);
  };
  const clients = [
    ...Array.from({ length: 4 }, async () => {
      while (traffic.on) {
        const allowed = new Set(live);
        const { status, body } = await sendHttpRequest(server, "/", { host: "busy.main.localhost", agent }).catch(
          (err: Error) => ({
            status: 0,
            body: err.message,
          }),
        );
        check("http", status === 200, body, allowed);
      }
    }),
    ...Array.from({ length: 2 }, async () => {
      while (traffic.on) {
        const allowed = new Set(live);
        const { code, text } = await sendMail(server, "busy@main.localhost", { subject: "which" });
        check("mail", code === 555, /version (\w+)/.exec(text)?.[1] ?? text, allowed);
      }
    }),
  ];
  for (let number = 1; number <= 25; number++) {
    const before = [...live];
    const rollback = number % 6 === 0;
    const next = rollback ? "0" : String(number);
    live.add(next);
    const { http, mail } = traffic;
    if (rollback)
      await api.ok("post", "workers/scripts/busy/deployments", {
        body: { strategy: "percentage", versions: [{ version_id: first, percentage: 100 }] },
      });
    else if (number % 6 !== 1) await api.ok("put", "workers/scripts/busy", { body: formOf(version(number, slow)) });
    else {
      const { id } = await api.ok("post", "workers/scripts/busy/versions", { body: formOf(version(number, slow)) });
      await api.ok("post", "workers/scripts/busy/deployments", {
        body: { strategy: "percentage", versions: [{ version_id: id, percentage: 100 }] },
      });
    }
    for (const old of before) if (old !== next) live.delete(old);
    assert.equal(
      (await sendHttpRequest(server, "/", { host: "busy.main.localhost" })).body,
      next,
      "requests after the response reach the new version",
    );
    if (number % 5 === 0 && !rollback)
      await api.ok("put", "workers/scripts/busy/secrets", {
        body: { name: "KEY", text: String(number), type: "secret_text" },
      });
    // Each client has a chance to reach the version before the next deployment.
    while (traffic.http < http + 5 || traffic.mail === mail || !traffic.met.has(next)) await sleep(5);
  }
  traffic.on = false;
  await Promise.all(clients);
  assert.deepEqual(traffic.wrong, []);
  assert.equal(traffic.met.size, 22, [...traffic.met].join());
  t.diagnostic(`${traffic.http} requests and ${traffic.mail} messages reached ${traffic.met.size} versions`);
});

test("two concurrent deploys succeed, a version that does not start changes nothing, and a split deployment gives each version its share", async (t) => {
  const server = await servePlatform(t);
  const api = createApi(server, TOKEN);
  await api.deploy("pair", version("start"));
  const both = await Promise.all(
    ["a", "b", "c"].map((number) => api.ok("put", "workers/scripts/pair", { body: formOf(version(number)) })),
  );
  const { deployments } = await api.ok("get", "workers/scripts/pair/deployments");
  const order = deployments
    .map((each: { versions: { version_id: string }[] }) => each.versions[0]!.version_id)
    .slice(0, 3);
  assert.deepEqual([...order].sort(), both.map((each) => each.deployment_id).sort());
  const winner = "abc"[both.findIndex((each) => each.deployment_id === order[0])];
  const answers = async () => (await sendHttpRequest(server, "/workers/pair/")).body;
  assert.equal(await answers(), winner, "the newest deployment responds");
  assert.deepEqual(
    (await api.ok("get", "workers/scripts/pair/versions")).items.map(({ number }: { number: number }) => number),
    [4, 3, 2, 1],
  );

  for (const broken of [
    "export default {",
    `throw new Error("at start"); export default {}`,
    `import "./none.js"; export default {}`,
  ]) {
    assert.deepEqual(await api.refused("put", "workers/scripts/pair", { body: formOf(broken) }), [400, 10021]);
    assert.deepEqual(
      await api.refused("post", "workers/scripts/pair/versions", { body: formOf(broken) }),
      [400, 10021],
    );
    assert.deepEqual(await api.refused("put", "workers/scripts/fresh", { body: formOf(broken) }), [400, 10021]);
  }
  assert.equal(await answers(), winner);
  assert.equal((await api.ok("get", "workers/scripts/pair/versions")).items.length, 4);
  assert.deepEqual(
    await api.refused("get", "workers/scripts/fresh/deployments"),
    [404, 10007],
    "a failed first upload leaves no worker",
  );

  const split = [
    { version_id: order[1], percentage: 50 },
    { version_id: order[2], percentage: 50 },
  ];
  await api.ok("post", "workers/scripts/pair/deployments", { body: { strategy: "percentage", versions: split } });
  const met = new Set<string>();
  for (let i = 0; i < 200 && met.size < 2; i++) met.add(await answers());
  assert.equal(met.size, 2);
  const named = await sendHttpRequest(server, "/workers/pair/", {
    headers: { "cloudflare-workers-version-overrides": `pair="${order[1]}"` },
  });
  assert.equal(named.body, "abc"[both.findIndex((each) => each.deployment_id === order[1])]);
});
