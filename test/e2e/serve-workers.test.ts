import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import { createManualClock } from "../../src/kernel/index.ts";
import type { PlatformServer } from "../../src/server/index.ts";
import { createScope } from "./dev-bench.ts";
import { sendHttpRequest, createApi, sendMail, servePlatform, TOKEN, type Api } from "./serve-client.ts";

const WORKER = `
export default {
  async fetch(request, env, ctx) {
    const url = new URL(request.url);
    if (url.pathname === "/echo") return new Response(request.body.pipeThrough(new TransformStream({
      transform: (chunk, out) => out.enqueue(new TextEncoder().encode(new TextDecoder().decode(chunk).toUpperCase())),
    })));
    if (url.pathname === "/socket") {
      const { 0: client, 1: server } = new WebSocketPair();
      server.accept();
      server.addEventListener("message", ({ data }) => server.send("received " + data));
      return new Response(null, { status: 101, webSocket: client });
    }
    if (url.pathname === "/throw") throw new TypeError("on purpose");
    if (url.pathname === "/keep") { await env.NOTES.put("note", await request.text()); return new Response(await env.NOTES.get("note")); }
    if (url.pathname === "/forward") return Response.redirect("https://example.com/elsewhere", 302);
    return Response.json({ method: request.method, url: request.url, host: request.headers.get("host"), greeting: env.GREETING, ip: request.headers.get("cf-connecting-ip") }, { status: 201, headers: { "x-made-by": "worker" } });
  },
  async email(message, env) {
    const subject = message.headers.get("subject");
    if (subject === "no") return message.setReject("not today");
    if (subject === "throw") throw new Error("on purpose");
    await env.NOTES.put("mail", message.from + " " + message.to + " " + subject);
  },
  async scheduled(event, env) {
    await env.NOTES.put("cron", event.cron + " " + new Date(event.scheduledTime).toISOString());
  },
};
`;

describe("a deployed worker", { concurrency: true }, () => {
  const scope = createScope();
  const clock = createManualClock(Date.parse("2026-11-21T09:59:30Z"));
  let server: PlatformServer;
  let api: Api;
  let namespace: string;
  const host = "mail.main.localhost";
  const note = async (key: string) =>
    (await api.call("get", `storage/kv/namespaces/${namespace}/values/${key}`)).body as string;
  before(async () => {
    server = await servePlatform(scope, { clock });
    api = createApi(server, TOKEN);
    namespace = (await api.ok("post", "storage/kv/namespaces", { body: { title: "notes" } })).id;
    await api.deploy("mail", WORKER, {
      bindings: [
        { type: "plain_text", name: "GREETING", text: "hi" },
        { type: "kv_namespace", name: "NOTES", namespace_id: namespace },
      ],
    });
  });
  after(() => scope.close());

  test("responds on its own hostname and under /workers/", async () => {
    const { status, body, headers } = await sendHttpRequest(server, "/a%20b/c?d=1&d=2", { host });
    assert.deepEqual(
      [status, headers["x-made-by"], JSON.parse(body)],
      [201, "worker", { method: "GET", url: `http://${host}/a%20b/c?d=1&d=2`, host, greeting: "hi", ip: "127.0.0.1" }],
    );
    const { port } = new URL(server.url);
    for (const name of [`MAIL.Main.LocalHost:${port}`, "mail.main.localhost."])
      assert.equal((await sendHttpRequest(server, "/", { host: name })).status, 201, name);
    const path = await sendHttpRequest(server, "/workers/mail/a%20b/c?d=1&d=2", { method: "DELETE" });
    assert.deepEqual(JSON.parse(path.body), {
      method: "DELETE",
      url: `http://127.0.0.1:${port}/a%20b/c?d=1&d=2`,
      host: `127.0.0.1:${port}`,
      greeting: "hi",
      ip: "127.0.0.1",
    });
    assert.equal(JSON.parse((await sendHttpRequest(server, "/workers/mail")).body).url, `http://127.0.0.1:${port}/`);
    // On its own host, a worker receives requests for every path, including paths that the platform uses.
    assert.equal(
      JSON.parse((await sendHttpRequest(server, "/client/v4/user", { host })).body).url,
      `http://${host}/client/v4/user`,
    );
  });

  test("responds to HEAD without a body, and passes redirects through", async () => {
    const head = await sendHttpRequest(server, "/", { host, method: "HEAD" });
    assert.deepEqual([head.status, head.body, head.headers["x-made-by"]], [201, "", "worker"]);
    const redirect = await sendHttpRequest(server, "/forward", { host });
    assert.deepEqual([redirect.status, redirect.headers.location], [302, "https://example.com/elsewhere"]);
    assert.equal((await sendHttpRequest(server, "/throw", { host })).status, 500);
  });

  test("streams in both directions concurrently", async () => {
    const { hostname, port } = new URL(server.url);
    const request = httpRequest({ host: hostname, port, path: "/echo", method: "POST", headers: { host } });
    request.write("one");
    const [response] = (await once(request, "response")) as [IncomingMessage];
    response.setEncoding("utf8");
    for (const word of ["one", "two", "three"]) {
      if (word !== "one") request.write(word);
      assert.equal((await once(response, "data"))[0], word.toUpperCase());
    }
    request.end();
    await once(response.resume(), "end");
    const large = "x".repeat(5_000_000);
    assert.equal(
      (await sendHttpRequest(server, "/echo", { host, method: "POST", body: large })).body,
      large.toUpperCase(),
    );
  });

  test("accepts WebSockets", async (t) => {
    for (const [path, headers] of [
      ["/socket", { host }],
      ["/workers/mail/socket", {}],
    ] as const) {
      const socket = new WebSocket(server.url.replace("http", "ws") + path, { headers });
      t.after(() => socket.terminate());
      await once(socket, "open");
      socket.send("me");
      assert.equal(String((await once(socket, "message"))[0]), "received me");
      socket.close();
      await once(socket, "close");
    }
    for (const [path, headers] of [
      ["/socket", { host: "none.main.localhost" }],
      ["/workers/none/", {}],
      ["/client/v4/user", {}],
    ] as const) {
      const socket = new WebSocket(server.url.replace("http", "ws") + path, { headers });
      const [, response] = (await once(
        socket.on("error", () => {}),
        "unexpected-response",
      )) as [unknown, IncomingMessage];
      assert.equal(response.statusCode, 404, path);
      socket.terminate();
    }
  });

  test("is unreachable under the name of another worker", async () => {
    for (const [path, name] of [
      ["/", "other.main.localhost"],
      ["/", "mail.another.localhost"],
      ["/workers/other/", undefined],
      ["/workers/%00/", undefined],
      ["/workers/%zz/", undefined],
      ["/nothing", undefined],
      ["/", "a.b.c.localhost"],
    ] as const) {
      const { status, body } = await sendHttpRequest(server, path, name === undefined ? {} : { host: name });
      const platformPage = name === "a.b.c.localhost";
      assert.equal(status, platformPage ? 200 : 404, `${name} ${path}: ${body}`);
    }
  });

  test("has no hostname while its subdomain is disabled or after it is deleted", async () => {
    await api.deploy("closed", `export default { fetch: () => new Response("open"), email() {} }`);
    const everywhere = async () => [
      (await sendHttpRequest(server, "/", { host: "closed.main.localhost" })).status,
      (await sendHttpRequest(server, "/workers/closed/")).status,
      (await sendMail(server, "closed@main.localhost")).code,
    ];
    assert.deepEqual(await everywhere(), [200, 200, 250]);
    await api.ok("post", "workers/scripts/closed/subdomain", { body: { enabled: false } });
    assert.deepEqual(await everywhere(), [404, 404, 550]);
    await api.ok("post", "workers/scripts/closed/subdomain", { body: { enabled: true } });
    assert.deepEqual(await everywhere(), [200, 200, 250]);
    await api.ok("delete", "workers/scripts/closed");
    assert.deepEqual(await everywhere(), [404, 404, 550]);
  });

  test("accepts mail at its address", async () => {
    assert.equal((await sendMail(server, "mail+tag@main.localhost", { subject: "keep" })).code, 250);
    assert.equal(await note("mail"), "ada@example.com mail+tag@main.localhost keep");
    const refused = await sendMail(server, "mail@main.localhost", { subject: "no" });
    assert.deepEqual([refused.code, /not today/.test(refused.text)], [555, true]);
    assert.equal((await sendMail(server, "mail@main.localhost", { subject: "throw" })).code, 451);
    for (const nobody of ["other@main.localhost", "mail@another.localhost", "ada@example.net"]) {
      const { code, text } = await sendMail(server, nobody);
      assert.deepEqual([code, text.includes("5.1.1")], [550, true], nobody);
    }
    // The existing recipient gets the message; no bounce is sent for the other one, since the sender is
    // unauthenticated.
    assert.equal((await sendMail(server, ["mail@main.localhost", "other@main.localhost"])).code, 250);
  });

  test("without a matching handler, reports the problem and loses no mail", async () => {
    await api.deploy("web", `export default { fetch: () => new Response("web") }`);
    assert.equal((await sendMail(server, "web@main.localhost")).code, 451);
    await api.deploy("post", `export default { email() {} }`);
    assert.equal((await sendHttpRequest(server, "/", { host: "post.main.localhost" })).status, 500);
  });

  test("runs at its scheduled times", async () => {
    assert.deepEqual(
      (await api.ok("put", "workers/scripts/mail/schedules", { body: [{ cron: "*/5 * * * *" }] })).schedules.map(
        ({ cron }: { cron: string }) => cron,
      ),
      ["*/5 * * * *"],
    );
    clock.advance(30_000);
    while ((await api.call("get", `storage/kv/namespaces/${namespace}/values/cron`)).status === 404) await sleep(10);
    assert.equal(await note("cron"), "*/5 * * * * 2026-11-21T10:00:00.000Z");
  });

  test("behind a trusted proxy, sees the client's address and HTTPS, which other clients cannot forge", async (t) => {
    const forged = {
      "x-forwarded-for": "203.0.113.9",
      "x-forwarded-proto": "https",
      "x-reelpost-scheme": "https",
      "cf-connecting-ip": "198.51.100.1",
    };
    const source = `export default { fetch: (request) => Response.json([request.url, request.headers.get("cf-connecting-ip"), request.headers.get("x-reelpost-scheme")]) }`;
    for (const [env, url, ip] of [
      [{}, "http://seen.main.localhost/", "127.0.0.1"],
      [{ REELPOST_HTTP_TRUSTED_PROXIES: "127.0.0.1" }, "https://seen.main.localhost/", "203.0.113.9"],
    ] as const) {
      const other = await servePlatform(t, { env });
      await createApi(other, TOKEN).deploy("seen", source);
      assert.deepEqual(
        JSON.parse((await sendHttpRequest(other, "/", { host: "seen.main.localhost", headers: forged })).body),
        [url, ip, null],
      );
    }
  });

  test("a new account label moves every worker", async (t) => {
    const other = await servePlatform(t);
    const there = createApi(other, TOKEN);
    await there.deploy("hello", `export default { fetch: () => new Response("hello") }`);
    await there.ok("put", "workers/subdomain", { body: { subdomain: "acme" } });
    assert.equal((await sendHttpRequest(other, "/", { host: "hello.main.localhost" })).status, 404);
    assert.equal((await sendHttpRequest(other, "/", { host: "hello.acme.localhost" })).body, "hello");
    assert.equal((await sendHttpRequest(other, "/workers/hello/")).body, "hello");
  });
});
