import assert from "node:assert/strict";
import { generateKeyPairSync, verify } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { describe, test, type TestContext } from "node:test";
import { systemClock } from "../../kernel/index.ts";
import { makeSelfSigned } from "../self-signed.ts";
import { createAcmeClient } from "./client.ts";
import { createAcmeHttp, type AcmeHttpOptions } from "./http.ts";
import { AcmeProblem } from "./problem.ts";

const identity = makeSelfSigned({ names: ["localhost"], clock: systemClock });
const key = generateKeyPairSync("ec", { namedCurve: "P-256" });

/** Resolves with an HTTPS server with scripted ACME responses, and a client connected to it. */
async function against(
  t: TestContext,
  answer: (request: IncomingMessage, response: ServerResponse, body: string) => void,
  options: AcmeHttpOptions = {},
) {
  const server = createServer({ cert: identity.cert, key: identity.key }, (request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += String(chunk))).on("end", () => answer(request, response, body));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const base = `https://localhost:${(server.address() as AddressInfo).port}`;
  const over = new AbortController();
  const http = createAcmeHttp({ ca: identity.cert, ...options });
  return {
    base,
    over,
    http,
    client: createAcmeClient({
      directory: `${base}/dir`,
      key: key.privateKey,
      http,
      clock: systemClock,
      signal: over.signal,
    }),
  };
}

/** Serves the directory and nonces 1, 2, 3, …; `answer` handles all other requests. */
function acme(answer: (request: IncomingMessage, response: ServerResponse, body: string) => void) {
  let nonces = 0;
  return (request: IncomingMessage, response: ServerResponse, body: string) => {
    const base = `https://${request.headers.host}`;
    if (request.url === "/dir")
      return response.end(
        JSON.stringify({ newNonce: `${base}/nonce`, newAccount: `${base}/account`, newOrder: `${base}/order` }),
      );
    response.setHeader("replay-nonce", `n${++nonces}`);
    if (request.url === "/nonce") return response.end();
    if (request.url === "/account") return response.writeHead(201, { location: `${base}/account/1` }).end("{}");
    return answer(request, response, body);
  };
}

const problem = (response: ServerResponse, status: number, type: string, headers: Record<string, string> = {}) =>
  response
    .writeHead(status, { "content-type": "application/problem+json", ...headers })
    .end(JSON.stringify({ type: `urn:ietf:params:acme:error:${type}`, detail: "as it is" }));

describe("the ACME client", () => {
  test("aborts a request with no response, a partial response or an endless response", async (t) => {
    for (const hang of [
      () => {},
      (_: IncomingMessage, response: ServerResponse) =>
        void response.writeHead(200, { "content-length": 100 }).write("{"),
      (_: IncomingMessage, response: ServerResponse) => {
        const timer = setInterval(() => response.write("x"), 20).unref();
        response.on("close", () => clearInterval(timer));
      },
    ]) {
      const { client } = await against(t, hang, { timeoutMs: 200 });
      await assert.rejects(client.register([]), /took longer than 200 ms/);
    }
  });

  test("rejects a response that exceeds 1 MiB", async (t) => {
    const { client } = await against(t, (_, response) => void response.end("x".repeat(2 * 1024 * 1024)));
    await assert.rejects(client.register([]), /exceeds 1048576 bytes/);
  });

  test("aborts when the server stops", async (t) => {
    const { client, over } = await against(t, () => over.abort(new Error("stopping")));
    await assert.rejects(client.register([]), { name: "AbortError" });
  });

  test("rejects the server certificate of an untrusted authority", async (t) => {
    const { base } = await against(t, (_, response) => void response.end("{}"));
    const http = createAcmeHttp({ ca: makeSelfSigned({ names: ["localhost"], clock: systemClock }).cert });
    await assert.rejects(
      http("GET", `${base}/dir`, undefined, new AbortController().signal),
      /self-signed certificate/,
    );
    await assert.rejects(
      createAcmeHttp({})("GET", `${base}/dir`, undefined, new AbortController().signal),
      /self-signed certificate/,
    );
  });

  test("retries ten times after a bad nonce, then fails", async (t) => {
    let bad = 10;
    const answer = acme((_, response) =>
      bad-- > 0
        ? problem(response, 400, "badNonce")
        : response.writeHead(201, { location: "https://localhost/order/1" }).end('{"status":"ready"}'),
    );
    const { client } = await against(t, answer);
    await client.register([]);
    assert.equal((await client.newOrder(["a.example"])).url, "https://localhost/order/1");
    bad = Infinity;
    await assert.rejects(
      client.newOrder(["a.example"]),
      (err) => err instanceof AcmeProblem && err.type === "badNonce",
    );
  });

  test("signs each request with its own nonce, and with the account URL once it is known", async (t) => {
    const seen: { nonce: string; kid?: string; url: string }[] = [];
    const answer = acme((_, response, body) => {
      const { protected: head, payload, signature } = JSON.parse(body) as Record<string, string>;
      assert.ok(
        verify(
          "sha256",
          Buffer.from(`${head}.${payload}`),
          { key: key.publicKey, dsaEncoding: "ieee-p1363" },
          Buffer.from(signature!, "base64url"),
        ),
      );
      seen.push(JSON.parse(Buffer.from(head!, "base64url").toString()) as never);
      assert.equal(payload, "");
      response.end('{"status":"valid"}');
    });
    const { client, base } = await against(t, answer);
    await client.register(["mailto:ops@example.com"]);
    for (let i = 0; i < 3; i++) await client.order(`${base}/order/1`);
    assert.equal(new Set(seen.map(({ nonce }) => nonce)).size, 3);
    assert.deepEqual([...new Set(seen.map(({ kid, url }) => `${kid} ${url}`))], [`${base}/account/1 ${base}/order/1`]);
  });

  test("reports the Retry-After of a rate limit", async (t) => {
    let after = "120";
    const { client } = await against(
      t,
      acme((_, response) => void problem(response, 429, "rateLimited", { "retry-after": after })),
    );
    await client.register([]);
    const waits = async () =>
      client.newOrder(["a.example"]).then(
        () => assert.fail("the order was accepted"),
        (err: AcmeProblem) => err,
      );
    const refusal = await waits();
    assert.deepEqual([refusal.type, refusal.retryAfterMs], ["rateLimited", 120_000]);
    assert.match(refusal.message, /429 rateLimited: as it is/);
    after = new Date(Date.now() + 60_000).toUTCString();
    assert.ok(Math.abs((await waits()).retryAfterMs! - 60_000) < 30_000);
    after = "99999999";
    assert.equal((await waits()).retryAfterMs, 86_400_000);
    after = "soon";
    assert.equal((await waits()).retryAfterMs, undefined);
  });

  test("reports a server that does not implement ACME", async (t) => {
    for (const text of ["<html>", "[]", "{}", "null"]) {
      const { client } = await against(t, (_, response) => void response.end(text));
      await assert.rejects(client.register([]), AcmeProblem);
    }
    const { client } = await against(
      t,
      (_, response) => void response.writeHead(302, { location: "https://elsewhere.example/" }).end(),
    );
    await assert.rejects(client.register([]), /failed with status 302/);
  });
});
