import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { json, text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import type { PlatformServer } from "../../src/server/index.ts";
import { createScope } from "./dev-bench.ts";
import { sendHttpRequest, createApi, formOf, servePlatform, TOKEN, type Api } from "./serve-client.ts";

const HELLO = `export default { fetch: () => new Response("hello") }`;
const BOUNDARY = "----formOfTheTests0123456789abcdef";
const MULTIPART = { "content-type": `multipart/form-data; boundary=${BOUNDARY}` };
const END = `--${BOUNDARY}--\r\n`;
const part = (name: string, type: string, content: string, more = "") =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${more}\r\nContent-Type: ${type}\r\n\r\n${content}\r\n`;
const metadata = (more: object = {}) =>
  part(
    "metadata",
    "application/json",
    JSON.stringify({ main_module: "index.js", compatibility_date: "2026-10-01", ...more }),
  );
const code = (content: string, name = "index.js") =>
  part(name, "application/javascript+module", content, `; filename="${name}"`);
const SCRIPT = "workers/scripts/bad";

describe("bad input to the API", { concurrency: true }, () => {
  const scope = createScope();
  let server: PlatformServer;
  let api: Api;
  before(async () => {
    server = await servePlatform(scope);
    api = createApi(server, TOKEN);
    await api.deploy("good", HELLO);
    await api.deploy("other", HELLO);
  });
  after(async () => {
    // After any input, existing workers still respond and no resource has been created.
    try {
      assert.equal((await sendHttpRequest(server, "/workers/good/")).body, "hello");
      assert.deepEqual(
        (await api.ok("get", "workers/scripts")).map(({ id }: { id: string }) => id),
        ["good", "other"],
      );
    } finally {
      await scope.close();
    }
  });

  const uploads: [string, { body: string | FormData; headers?: Record<string, string> }, number, number][] = [
    ["a truncated form", { body: `${metadata()}${code(HELLO)}`, headers: MULTIPART }, 400, 10021],
    ["an invalid form", { body: `--${BOUNDARY}\r\nnothing\r\n`, headers: MULTIPART }, 400, 10021],
    ["an empty body", { body: "", headers: MULTIPART }, 400, 10021],
    ["JSON instead of a form", { body: "{}", headers: { "content-type": "application/json" } }, 400, 10021],
    ["a form without metadata", { body: `${code(HELLO)}${END}`, headers: MULTIPART }, 400, 10021],
    [
      "metadata that is not JSON",
      { body: `${part("metadata", "application/json", "{main")}${code(HELLO)}${END}`, headers: MULTIPART },
      400,
      10021,
    ],
    [
      "metadata that is an array",
      { body: `${part("metadata", "application/json", "[]")}${code(HELLO)}${END}`, headers: MULTIPART },
      400,
      10021,
    ],
    [
      "a main module that is missing from the form",
      { body: `${metadata({ main_module: "none.js" })}${code(HELLO)}${END}`, headers: MULTIPART },
      400,
      10021,
    ],
    [
      "metadata without a main module",
      { body: `${part("metadata", "application/json", "{}")}${code(HELLO)}${END}`, headers: MULTIPART },
      400,
      10021,
    ],
    [
      "a module path outside the folder",
      { body: `${metadata()}${code(HELLO)}${code(HELLO, "../../up.js")}${END}`, headers: MULTIPART },
      400,
      10021,
    ],
    ["code that is not JavaScript", { body: formOf("export default {{") }, 400, 10021],
    ["a date in the future", { body: formOf(HELLO, { compatibility_date: "2999-01-01" }) }, 400, 10021],
    [
      "a binding to a KV namespace that does not exist",
      { body: formOf(HELLO, { bindings: [{ type: "kv_namespace", name: "A", namespace_id: "0".repeat(32) }] }) },
      400,
      10041,
    ],
    [
      "a binding to a bucket that does not exist",
      { body: formOf(HELLO, { bindings: [{ type: "r2_bucket", name: "A", bucket_name: "none" }] }) },
      400,
      10085,
    ],
    [
      "a binding to a database that does not exist",
      { body: formOf(HELLO, { bindings: [{ type: "d1", name: "A", id: "00000000-0000-4000-8000-000000000000" }] }) },
      400,
      10181,
    ],
    [
      "a binding of an unknown type",
      { body: formOf(HELLO, { bindings: [{ type: "crystal_ball", name: "A" }] }) },
      400,
      10021,
    ],
    [
      "a binding without a name",
      { body: formOf(HELLO, { bindings: [{ type: "plain_text", name: "", text: "x" }] }) },
      400,
      10052,
    ],
    [
      "two bindings with the same name",
      {
        body: formOf(HELLO, {
          bindings: [
            { type: "plain_text", name: "A", text: "x" },
            { type: "plain_text", name: "A", text: "y" },
          ],
        }),
      },
      400,
      10053,
    ],
    ["11 MiB of code", { body: formOf(`${HELLO}\n//${"x".repeat(11 * 1024 * 1024)}`) }, 413, 10027],
    ["49 MiB of code", { body: formOf(`${HELLO}\n//${"x".repeat(49 * 1024 * 1024)}`) }, 413, 10027],
  ];
  for (const [what, options, status, expected] of uploads) {
    test(what, async () => {
      const { status: got, body } = await api.call("put", SCRIPT, options);
      assert.deepEqual([got, body.errors?.[0].code], [status, expected], JSON.stringify(body));
      assert.deepEqual([body.success, body.result, typeof body.errors[0].message], [false, null, "string"]);
      assert.deepEqual(await api.refused("get", `${SCRIPT}/settings`), [404, 10007]);
    });
  }

  test("the same form without the mistake is accepted", async () => {
    await api.ok("put", "workers/scripts/other", { body: `${metadata()}${code(HELLO)}${END}`, headers: MULTIPART });
  });

  test("a secret of a missing worker and an invalid secret are rejected", async () => {
    assert.deepEqual(
      await api.refused("put", `${SCRIPT}/secrets`, { body: { name: "A", text: "x", type: "secret_text" } }),
      [404, 10007],
    );
    assert.deepEqual(await api.refused("delete", "workers/scripts/good/secrets/NONE"), [404, 10056]);
    for (const body of [{ name: "A" }, { text: "x", type: "secret_text" }, [], "{"])
      assert.equal((await api.call("put", "workers/scripts/good/secrets", { body })).status, 400, JSON.stringify(body));
    assert.deepEqual(await api.ok("get", "workers/scripts/good/secrets"), []);
  });

  test("a deployment is rejected if it contains a version of another worker or percentages that do not total 100", async () => {
    const [own, foreign] = await Promise.all(
      ["good", "other"].map(
        async (name) => (await api.ok("get", `workers/scripts/${name}/versions`)).items[0].id as string,
      ),
    );
    const deploy = (...versions: [string, number][]) =>
      api.refused("post", "workers/scripts/good/deployments", {
        body: {
          strategy: "percentage",
          versions: versions.map(([version_id, percentage]) => ({ version_id, percentage })),
        },
      });
    assert.deepEqual(await deploy([foreign!, 100]), [404, 10146]);
    assert.deepEqual(await deploy(["00000000-0000-4000-8000-000000000000", 100]), [404, 10146]);
    assert.deepEqual(await deploy([own!, 50], [foreign!, 50]), [404, 10146]);
    assert.deepEqual(await deploy([own!, 90]), [400, 10147]);
    assert.deepEqual(await deploy([own!, 60], [own!, 40]), [400, 10147]);
    assert.equal((await deploy([own!, -5], [foreign!, 105]))[0], 400);
    assert.equal((await deploy())[0], 400);
    assert.deepEqual(await api.refused("get", `workers/scripts/good/versions/${foreign}`), [404, 10146]);
    assert.equal((await api.ok("get", "workers/scripts/good/deployments")).deployments.length, 1);
  });

  test("an unauthorized client gets the response before its body is read", async () => {
    const body = formOf(HELLO);
    const [{ id: reading }] = (await api.ok("get", "/user/tokens/permission_groups")).filter(
      ({ name }: { name: string }) => name === "Workers Scripts Read",
    );
    const { value } = await api.ok("post", "/user/tokens", {
      body: {
        name: "reads",
        policies: [
          {
            effect: "allow",
            resources: { [`com.cloudflare.api.account.${api.account}`]: "*" },
            permission_groups: [{ id: reading }],
          },
        ],
      },
    });
    assert.deepEqual(await api.refused("put", SCRIPT, { body, token: value }), [403, 9109]);
    assert.equal((await api.call("get", "workers/scripts", { token: value })).status, 200);
    assert.deepEqual(await api.refused("put", SCRIPT, { body, token: "x".repeat(40) }), [401, 10000]);
    assert.deepEqual(await api.refused("put", `/accounts/${"0".repeat(32)}/${SCRIPT}`, { body }), [404, 7003]);
    const { hostname, port } = new URL(server.url);
    const slow = httpRequest({
      host: hostname,
      port,
      method: "PUT",
      path: `/client/v4/accounts/${api.account}/${SCRIPT}`,
      headers: { authorization: "Bearer nobody", ...MULTIPART, "content-length": "1000000" },
    }).on("error", () => {});
    slow.write(metadata());
    const [response] = (await once(slow, "response")) as [IncomingMessage];
    assert.equal(response.statusCode, 401);
    slow.destroy();
  });

  test("a client that disconnects in the middle of its upload changes nothing", async () => {
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    await new Promise(
      (resolve) =>
        void socket.write(
          `PUT /client/v4/accounts/${api.account}/${SCRIPT} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: ${MULTIPART["content-type"]}\r\nContent-Length: 100000\r\n\r\n${metadata()}`,
          resolve,
        ),
    );
    socket.destroy();
    assert.deepEqual(await api.refused("get", `${SCRIPT}/settings`), [404, 10007]);
  });

  for (const what of ["script", "value", "object"] as const) {
    test(`nothing is stored if the token is revoked while its ${what} is being uploaded`, async () => {
      const groups = (await api.ok("get", "/user/tokens/permission_groups")).filter(({ name }: { name: string }) =>
        ["Workers Scripts Write", "Workers KV Storage Write", "Workers R2 Storage Write"].includes(name),
      );
      const { id, value } = await api.ok("post", "/user/tokens", {
        body: {
          name: what,
          policies: [
            {
              effect: "allow",
              resources: { [`com.cloudflare.api.account.${api.account}`]: "*" },
              permission_groups: groups.map((group: { id: string }) => ({ id: group.id })),
            },
          ],
        },
      });
      const target = await targetOf(what);
      const [beginning, end] = what === "script" ? [metadata(), `${code(HELLO)}${END}`] : ["begin", "end"];
      const { hostname, port } = new URL(server.url);
      const upload = httpRequest({
        host: hostname,
        port,
        method: "PUT",
        path: `/client/v4/accounts/${api.account}/${target}`,
        headers: { authorization: `Bearer ${value}`, expect: "100-continue", ...(what === "script" && MULTIPART) },
      });
      await once(upload, "continue");
      upload.write(beginning);
      await api.ok("delete", `/user/tokens/${id}`);
      upload.end(end);
      const [response] = (await once(upload, "response")) as [IncomingMessage];
      const body = (await json(response)) as { errors: { code: number }[] };
      assert.deepEqual([response.statusCode, body.errors[0]!.code], [401, 10000]);
      assert.equal((await api.call("get", what === "script" ? `${target}/settings` : target)).status, 404);
    });
  }

  async function targetOf(what: "script" | "value" | "object"): Promise<string> {
    if (what === "script") return "workers/scripts/revoked";
    if (what === "object") {
      await api.ok("post", "r2/buckets", { body: { name: "revoked" } });
      return "r2/buckets/revoked/objects/key";
    }
    return `storage/kv/namespaces/${(await api.ok("post", "storage/kv/namespaces", { body: { title: "revoked" } })).id}/values/key`;
  }

  test("malformed HTTP is rejected", async () => {
    const { hostname, port } = new URL(server.url);
    for (const words of [
      "HELO there\r\n\r\n",
      `GET / HTTP/1.1\r\nHost: a\r\nX-Long: ${"x".repeat(100_000)}\r\n\r\n`,
      "GET / HTTP/1.1\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    ]) {
      const socket = connect(Number(port), hostname);
      socket.write(words);
      assert.match(await text(socket), /^HTTP\/1\.1 4\d\d /, words.slice(0, 30));
    }
  });
});
