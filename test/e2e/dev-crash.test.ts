import assert from "node:assert/strict";
import { it } from "node:test";
import { makeProject, message, spawnDev } from "./dev-bench.ts";

const WORKER = `
async function store(number, env) {
  await env.DB.exec("create table if not exists numbers (n text primary key)");
  await Promise.all([
    env.KV.put(number, "value of " + number),
    env.BUCKET.put(number, "object of " + number),
    env.DB.prepare("insert into numbers values (?)").bind(number).run(),
  ]);
}
export default {
  async email(message, env) { await store(message.headers.get("x-number"), env); },
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/store") {
      await store(searchParams.get("number"), env);
      return new Response("stored");
    }
    const numbers = await request.json();
    const kept = await Promise.all(numbers.map(async (number) => ({
      number,
      kv: await env.KV.get(number),
      r2: await (await env.BUCKET.get(number))?.text(),
      d1: await env.DB.prepare("select n from numbers where n = ?").bind(number).first("n"),
    })));
    return Response.json(kept);
  },
};
`;

it("kill -9 under load loses no message that a worker has acknowledged", async (t) => {
  const folder = await makeProject(
    t,
    { "src/index.ts": WORKER },
    {
      kv_namespaces: [{ binding: "KV", id: "kv" }],
      r2_buckets: [{ binding: "BUCKET", bucket_name: "bucket" }],
      d1_databases: [{ binding: "DB", database_name: "db", database_id: "db" }],
    },
  );
  const acknowledged: string[] = [];
  for (const round of ["a", "b"]) {
    const { child, ready, exited } = await spawnDev(t, folder);
    const wanted = acknowledged.length + 60;
    const lanes = [0, 1, 2, 3, 4, 5].map(async (lane) => {
      for (let i = 0; ; i++) {
        const number = `${round}-${lane}-${i}`;
        const request =
          lane % 2 === 0
            ? fetch(`${ready.url}/store?number=${number}`)
            : fetch(`${ready.url}/cdn-cgi/handler/email?from=a@example.com&to=b@example.org`, {
                method: "POST",
                body: message({ "X-Number": number }),
              });
        const answer = await request.then(
          async (response) => ({ status: response.status, text: await response.text() }),
          () => undefined,
        );
        // The connection was cut, so the message may or may not have been stored.
        if (answer === undefined) return;
        assert.equal(answer.status, 200, answer.text);
        acknowledged.push(number);
        if (acknowledged.length === wanted) child.kill("SIGKILL");
      }
    });
    await Promise.all(lanes);
    assert.equal((await exited).signal, "SIGKILL");
  }

  const { ready, child, exited } = await spawnDev(t, folder);
  const kept = (await (
    await fetch(`${ready.url}/check`, { method: "POST", body: JSON.stringify(acknowledged) })
  ).json()) as object[];
  assert.deepEqual(
    kept,
    acknowledged.map((number) => ({ number, kv: `value of ${number}`, r2: `object of ${number}`, d1: number })),
  );
  child.kill("SIGTERM");
  assert.deepEqual(await exited, { code: 0, signal: null });
});
