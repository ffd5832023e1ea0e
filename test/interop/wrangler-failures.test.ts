import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, describe, it } from "node:test";
import { freePort } from "../support/free-ports.ts";
import type { Wrangler } from "../support/wrangler.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const FINE = `export default { fetch: () => new Response("fine") };\n`;
const config = (more: Record<string, unknown> = {}) =>
  JSON.stringify({ name: "shop", main: "worker.js", compatibility_date: "2026-10-01", ...more });

describe("wrangler failures", () => {
  const scope = createScope();
  let platform: Platform;
  let wrangler: Wrangler;
  before(async () => {
    platform = await startPlatform(scope);
    wrangler = await platform.wrangler({ "wrangler.jsonc": config(), "worker.js": FINE });
    await wrangler.run(["deploy"]);
  });
  after(scope.close);

  async function refused(args: string[], options?: { input?: string; env?: Record<string, string> }): Promise<string> {
    const { code, text } = await wrangler.attempt(args, options);
    assert.notEqual(code, 0, text);
    return text;
  }
  async function refusedDeploy(more: Record<string, unknown>): Promise<string> {
    await wrangler.write("bad.jsonc", config(more));
    return refused(["deploy", "--config", "bad.jsonc"]);
  }
  const stillRuns = async () => assert.deepEqual(await platform.visit("shop"), { status: 200, text: "fine" });

  it("a binding to a missing namespace, bucket or database is reported by name, and the running version remains", async () => {
    assert.match(
      await refusedDeploy({ kv_namespaces: [{ binding: "CACHE", id: "0".repeat(32) }] }),
      /KV namespace '0{32}' not found\. \[code: 10041\][^]*'CACHE'/,
    );
    const database = "00000000-0000-4000-8000-000000000000";
    assert.match(
      await refusedDeploy({ d1_databases: [{ binding: "DB", database_id: database, database_name: "none" }] }),
      new RegExp(`D1 binding 'DB' references database '${database}' which was not found\\. \\[code: 10181\\]`),
    );
    await stillRuns();
    const versions = await platform.ask<{ items: unknown[] }>(
      `/accounts/${platform.account}/workers/scripts/shop/versions`,
    );
    assert.equal(versions.items.length, 1);
  });

  it("an unsupported binding type is rejected by name", async () => {
    assert.match(
      await refusedDeploy({ hyperdrive: [{ binding: "POOL", id: "0".repeat(32) }] }),
      /Binding 'POOL' has the type 'hyperdrive', which this server does not support/,
    );
    await stillRuns();
  });

  it("code that fails at startup is rejected with its own error and its location in the source", async () => {
    await wrangler.write("thrower.js", `const known = 1;\nunknown.call(known);\n${FINE}`);
    assert.match(
      await refusedDeploy({ main: "thrower.js" }),
      /ReferenceError: unknown is not defined[^]*thrower\.js:2:1[^]*\[code: 10021\]/,
    );
    await stillRuns();
  });

  it("a syntax error found only by the runtime is reported with the runtime's message", async () => {
    // The bundler does not validate newer regular expression syntax; --no-bundle uploads the file unchanged.
    await wrangler.write("syntax.js", `const pattern = /(?<n>a)(?<n>b)/;\n${FINE}`);
    assert.match(
      await refused(["deploy", "syntax.js", "--no-bundle", "--name", "shop", "--compatibility-date", "2026-10-01"]),
      /SyntaxError: Invalid regular expression[^]*\[code: 10021\]/,
    );
    await stillRuns();
  });

  it("a deploy with a missing main file or a compatibility date in the future is rejected", async () => {
    assert.match(await refusedDeploy({ main: "none.js" }), /entry-point file at "none\.js" was not found/);
    assert.match(
      await refusedDeploy({ compatibility_date: "2199-01-01" }),
      /compatibility date[^]*2199-01-01[^]*\[code: 10021\]/,
    );
    await stillRuns();
  });

  it("every command rejects a wrong token", async () => {
    const env = { CLOUDFLARE_API_TOKEN: "not-a-token-of-this-server-at-all-00000" };
    for (const args of [["deploy"], ["kv", "namespace", "list"], ["secret", "list"]])
      assert.match(await refused(args, { env }), /Authentication error[^]*10000/, args.join(" "));
  });

  it("a read-only token cannot deploy, and the error names the missing permission", async () => {
    const groups = await platform.ask<{ id: string; name: string }[]>("/user/tokens/permission_groups?per_page=1000");
    const read = groups.find(({ name }) => name === "Workers Scripts Read")!;
    const { value } = await platform.ask<{ value: string }>("/user/tokens", {
      method: "POST",
      body: JSON.stringify({
        name: "reader",
        policies: [
          {
            effect: "allow",
            resources: { [`com.cloudflare.api.account.${platform.account}`]: "*" },
            permission_groups: [{ id: read.id }],
          },
        ],
      }),
    });
    const env = { CLOUDFLARE_API_TOKEN: value };
    assert.match((await wrangler.run(["deployments", "status"], { env })).text, /\(100%\)/);
    assert.match(await refused(["deploy"], { env }), /\[code: 9109\][^]*Workers Scripts Write/);
  });

  it("another account's id is rejected", async () => {
    assert.match(
      await refused(["deployments", "list"], { env: { CLOUDFLARE_ACCOUNT_ID: "f".repeat(32) } }),
      /\[code: (7003|9109|10000)\]/,
    );
  });

  it("a missing worker, version or database is reported by name", async () => {
    assert.match(
      await refused(["deployments", "list", "--name", "nobody"]),
      /This Worker does not exist on your account\. \[code: 10007\]/,
    );
    assert.match(await refused(["versions", "view", "00000000-0000-4000-8000-000000000000"]), /\[code: 10\d\d\d\]/);
    assert.match(
      await refused(["versions", "deploy", "00000000-0000-4000-8000-000000000000@100", "-y"]),
      /00000000-0000-4000-8000-000000000000|\[code: /,
    );
    assert.match(await refused(["secret", "delete", "NONE"]), /\[code: 10056\]/);
    assert.match(
      await refused(["d1", "execute", "nobase", "--command", "select 1", "--remote"]),
      /Couldn't find a D1 DB with name or binding 'nobase'/,
    );
  });

  it("the client reports that the server is unreachable", async () => {
    const port = await freePort();
    assert.match(
      await refused(["deployments", "list"], {
        env: { CLOUDFLARE_API_BASE_URL: `http://127.0.0.1:${port}/client/v4` },
      }),
      /fetch request failed|fetch failed/,
    );
  });

  it("two concurrent deploys both finish, and one of them is live", async () => {
    const editions = ["left", "right"];
    await Promise.all(
      editions.map(async (edition) => {
        await wrangler.write(`${edition}.js`, `export default { fetch: () => new Response("${edition}") };\n`);
        await wrangler.write(`${edition}.jsonc`, config({ name: "twice", main: `${edition}.js` }));
        await wrangler.run(["deploy", "--config", `${edition}.jsonc`]);
      }),
    );
    assert.ok(editions.includes((await platform.visit("twice")).text));
  });

  it("an interrupted upload changes nothing", async () => {
    const { hostname, port } = new URL(platform.url);
    const path = `/client/v4/accounts/${platform.account}/workers/scripts/shop`;
    await new Promise<void>((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => {
        socket.write(
          `PUT ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${platform.token}\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 5000\r\n\r\n`,
        );
        socket.end(
          `--b\r\nContent-Disposition: form-data; name="metadata"\r\n\r\n{"main_module":"w.js"}\r\n--b\r\nContent-Disposition: form-data; name="w.js"; filename="w.js"\r\nContent-Type: application/javascript+module\r\n\r\nexport`,
        );
      });
      socket
        .on("error", reject)
        .on("close", () => resolve())
        .resume();
    });
    await stillRuns();
    assert.equal(
      (await platform.ask<{ items: unknown[] }>(`/accounts/${platform.account}/workers/scripts/shop/versions`)).items
        .length,
      1,
    );
  });
});
