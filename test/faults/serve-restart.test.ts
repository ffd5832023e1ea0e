import { randomBytes } from "node:crypto";
import assert from "node:assert/strict";
import { Agent } from "node:http";
import { connect } from "node:net";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sendHttpRequest, createApi, formOf, sendMail, TOKEN, type Api } from "../e2e/serve-client.ts";
import { spawnServe, temporaryFolder, type ServeProcess } from "../support/serve.ts";

const env = { REELPOST_API_TOKEN: TOKEN };
const host = "kept.main.localhost";

/** Source of a worker that has every kind of binding and returns their contents. */
const KEPT = `
export default {
  async fetch(request, env) {
    if (request.method === "PUT") {
      await env.NOTES.put("note", await request.text());
      await env.FILES.put("file", "in a bucket");
      await env.DB.exec("create table if not exists t (n integer)");
      await env.DB.prepare("insert into t values (1)").run();
      return new Response("kept");
    }
    const rows = await env.DB.prepare("select count(*) as n from t").first();
    return Response.json({ version: VERSION, secret: env.SECRET, note: await env.NOTES.get("note"), file: await (await env.FILES.get("file"))?.text(), rows: rows.n });
  },
};`;
const kept = (version: number) => KEPT.replace("VERSION", String(version));

async function makeEverything(api: Api) {
  const { id: namespace } = await api.ok("post", "storage/kv/namespaces", { body: { title: "notes" } });
  await api.ok("post", "r2/buckets", { body: { name: "files" } });
  const { uuid: database } = await api.ok("post", "d1/database", { body: { name: "rows" } });
  const bindings = [
    { type: "kv_namespace", name: "NOTES", namespace_id: namespace },
    { type: "r2_bucket", name: "FILES", bucket_name: "files" },
    { type: "d1", name: "DB", id: database },
  ];
  await api.deploy("kept", kept(0), { bindings });
  await api.ok("put", "workers/scripts/kept/secrets", {
    body: { name: "SECRET", text: "s3cret", type: "secret_text" },
  });
  return bindings;
}

const state = async ({ ready }: Pick<ServeProcess, "ready">) =>
  JSON.parse((await sendHttpRequest(ready, "/", { host })).body);

describe("a restart", { concurrency: 2 }, () => {
  test("preserves everything, even after a kill during deploys, with all acknowledged versions live and none incomplete", async (t) => {
    const dataDirectory = await temporaryFolder(t);
    let server = await spawnServe(t, { dataDirectory, env });
    let api = createApi(server.ready, TOKEN);
    const bindings = await makeEverything(api);
    assert.equal((await sendHttpRequest(server.ready, "/", { host, method: "PUT", body: "a note" })).body, "kept");
    const rest = { secret: "s3cret", note: "a note", file: "in a bucket", rows: 1 };
    assert.deepEqual(await state(server), { version: 0, ...rest });
    assert.deepEqual(await server.stop(), { code: 0, signal: null });

    let acknowledged = 0;
    let begun = 0;
    for (const [deploys, ms] of [
      [1, 5],
      [2, 40],
      [4, 90],
    ] as const) {
      server = await spawnServe(t, { dataDirectory, env });
      api = createApi(server.ready, TOKEN);
      const { version, ...others } = await state(server);
      assert.deepEqual(others, rest);
      assert.ok(
        version >= acknowledged && version <= begun,
        `version ${version} is live; ${acknowledged} was acknowledged, ${begun} was started last`,
      );
      acknowledged = version;
      let killed: Promise<unknown> | undefined;
      for (let going = true, count = 1; going; count++) {
        begun++;
        if (count === deploys) killed = sleep(ms).then(() => server.child.kill("SIGKILL"));
        going = await api
          .ok("put", "workers/scripts/kept", {
            body: formOf(kept(begun), { bindings, keep_bindings: ["secret_text"] }),
          })
          .then(
            () => true,
            (err: Error) => {
              assert.match(err.message, /fetch failed|terminated/, "only the kill interrupts a deploy");
              return false;
            },
          );
        if (going) acknowledged = begun;
      }
      await killed;
      await server.exited;
    }
    server = await spawnServe(t, { dataDirectory, env });
    const { version, ...others } = await state(server);
    assert.deepEqual(others, rest);
    assert.ok(
      version >= acknowledged && version <= begun,
      `version ${version} is live; ${acknowledged} was acknowledged, ${begun} was started last`,
    );
    assert.ok(begun >= 7);
    t.diagnostic(`${begun} deploys were started, ${acknowledged} were acknowledged, ${version} is live`);
    // Nothing blocks the next deployment.
    await createApi(server.ready, TOKEN).ok("put", "workers/scripts/kept", {
      body: formOf(kept(begun + 1), { bindings, keep_bindings: ["secret_text"] }),
    });
    assert.deepEqual(await state(server), { version: begun + 1, ...rest });
  });

  test("a graceful stop finishes pending requests and messages, notifies load balancers, and accepts nothing new", async (t) => {
    const server = await spawnServe(t, { env });
    const api = createApi(server.ready, TOKEN);
    await api.deploy(
      "slow",
      `export default {
      async fetch() { await scheduler.wait(3000); return new Response("in the end"); },
      async email(message) { await scheduler.wait(3000); message.setReject("in the end"); },
    }`,
    );
    assert.equal((await sendHttpRequest(server.ready, "/readyz")).body, "ready\n");
    const { port } = new URL(server.ready.url);
    // An open connection may still send requests after the port is closed.
    const open = connect(Number(port), "127.0.0.1");
    let heard = "";
    open.setEncoding("utf8").on("data", (text: string) => (heard += text));
    open.write("GET / HTTP/1.1\r\nHost: slow.main.localhost\r\n\r\n");
    const slow = sendHttpRequest(server.ready, "/", { host: "slow.main.localhost" });
    const mail = sendMail(server.ready, "slow@main.localhost");
    while (!/"step":"received"/.test(server.log())) await sleep(10);
    server.child.kill("SIGTERM");
    while (
      await sendHttpRequest(server.ready, "/healthz").then(
        () => true,
        () => false,
      )
    );
    open.write("GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n");
    assert.equal((await slow).body, "in the end");
    assert.match((await mail).text, /^555 .*in the end/);
    assert.deepEqual(await server.exited, { code: 0, signal: null });
    assert.match(heard, /in the end(.|\r\n)*HTTP\/1\.1 503 (.|\r\n)*stopping/);
  });

  test("the second Ctrl-C exits immediately", async (t) => {
    const server = await spawnServe(t, { env });
    await createApi(server.ready, TOKEN).deploy(
      "slow",
      `export default { fetch(_, env, ctx) {
      const { readable, writable } = new IdentityTransformStream();
      const writer = writable.getWriter();
      ctx.waitUntil(writer.write(new TextEncoder().encode("begun")).then(() => scheduler.wait(20_000)).then(() => writer.close()));
      return new Response(readable);
    } }`,
    );
    const slow = connect(Number(new URL(server.ready.url).port), "127.0.0.1").on("error", () => {});
    slow.write("GET / HTTP/1.1\r\nHost: slow.main.localhost\r\n\r\n");
    for await (const piece of slow.iterator({ destroyOnReturn: false })) if (String(piece).includes("begun")) break;
    server.child.kill("SIGINT");
    // One Ctrl-C may deliver SIGINT twice in quick succession; only a later signal counts as a second request.
    const again = setInterval(() => server.child.kill("SIGINT"), 400);
    t.after(() => clearInterval(again));
    // A graceful shutdown would exit with 0.
    assert.deepEqual(await server.exited, { code: 130, signal: null });
    slow.destroy();
  });

  test("no connection is refused if another process holds the socket", async (t) => {
    const dataDirectory = await temporaryFolder(t);
    const holder = await holdSocket(t);
    // The kernel reports no address for a socket that is bound but not listening, so it counts as public and requires a
    // secrets key.
    const publicEnv = { ...env, REELPOST_SECRETS_KEY: randomBytes(32).toString("base64") };
    let server = await spawnServe(t, { dataDirectory, env: publicEnv, listening: holder.fd });
    assert.equal(new URL(server.ready.url).port, String(holder.port));
    await createApi(server.ready, TOKEN).deploy("kept", `export default { fetch: () => new Response("here") }`);
    const seen = new Map<string, number>();
    const traffic = { on: true };
    const agents = [new Agent({ keepAlive: true }), new Agent({ keepAlive: false })];
    t.after(async () => agents.forEach((agent) => agent.destroy()));
    const clients = [...agents, ...agents].map(async (agent) => {
      while (traffic.on) {
        const outcome = await sendHttpRequest({ url: `http://127.0.0.1:${holder.port}` }, "/", { host, agent }).then(
          ({ status, body }) => `${status} ${body}`,
          // A client that starves on a busy machine may reuse a connection after the server has closed it. Clients
          // retry then (RFC 9112 9.3.1); on a new connection, a reset is an error of the server.
          (err: NodeJS.ErrnoException & { reusedSocket?: boolean }) =>
            err.code === "ECONNRESET" && err.reusedSocket ? undefined : (err.code ?? err.message),
        );
        if (outcome === undefined) continue;
        seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
      }
    });
    for (let i = 0; i < 2; i++) {
      await sleep(200);
      assert.deepEqual(await server.stop(), { code: 0, signal: null });
      server = await spawnServe(t, { dataDirectory, env: publicEnv, listening: holder.fd });
    }
    await sleep(200);
    traffic.on = false;
    await Promise.all(clients);
    assert.deepEqual([...seen.keys()], ["200 here"], JSON.stringify([...seen]));
    t.diagnostic(`${seen.get("200 here")} requests over two restarts`);
  });
});

interface TcpHandle {
  readonly fd: number;
  bind(address: string, port: number): number;
  getsockname(into: object): number;
  close(): void;
}

/**
 * Resolves with a bound socket on which this process accepts no connections, as systemd holds it for a service. A
 * net.Server would accept connections.
 */
async function holdSocket(t: { after(stop: () => Promise<void>): void }): Promise<{ fd: number; port: number }> {
  const { TCP, constants } = (
    process as unknown as {
      binding(name: "tcp_wrap"): { TCP: new (kind: number) => TcpHandle; constants: { SERVER: number } };
    }
  ).binding("tcp_wrap");
  const handle = new TCP(constants.SERVER);
  t.after(async () => handle.close());
  const address = { port: 0 };
  assert.deepEqual([handle.bind("127.0.0.1", 0), handle.getsockname(address)], [0, 0]);
  return { fd: handle.fd, port: address.port };
}
