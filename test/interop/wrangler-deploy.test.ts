import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Wrangler } from "../support/wrangler.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const WORKER = `
import page from "./page.html";
import bytes from "./bytes.bin";
import add from "./add.wasm";
import { greet } from "./greet";

export default {
  async fetch(request, env) {
    const { exports } = new WebAssembly.Instance(add);
    return Response.json({ greeting: greet(env.NAME), list: env.LIST, page, bytes: [...new Uint8Array(bytes)], sum: exports.add(40, 2), at: new URL(request.url).pathname });
  },
  async email(message) {
    if (message.from.startsWith("spammer@")) message.setReject("We do not want that");
  },
  async scheduled() {},
};
`;
const GREET = `export const greet = (name: string): string => \`Hello, \${name}\`;\n`;
/** (module (func (export "add") (param i32 i32) (result i32) local.get 0 local.get 1 i32.add)) */
const ADD_WASM = Buffer.from(
  "0061736d0100000001070160027f7f017f030201000707010361646400000a09010700200020016a0b",
  "hex",
);

const CONFIG = {
  name: "hello",
  main: "src/index.ts",
  compatibility_date: "2026-10-01",
  compatibility_flags: ["nodejs_compat"],
  vars: { NAME: "world", LIST: [1, { two: 2 }] },
  triggers: { crons: ["*/5 * * * *", "0 3 * * 1"] },
  env: { staging: { vars: { NAME: "staging", LIST: [] }, triggers: { crons: [] } } },
};

interface WorkerResponse {
  greeting: string;
  list: unknown;
  page: string;
  bytes: number[];
  sum: number;
  at: string;
}

describe("wrangler deploy", () => {
  const scope = createScope();
  let platform: Platform;
  let wrangler: Wrangler;
  before(async () => {
    platform = await startPlatform(scope);
    wrangler = await platform.wrangler({
      "wrangler.jsonc": JSON.stringify(CONFIG),
      "src/index.ts": WORKER,
      "src/greet.ts": GREET,
      "src/page.html": "<p>é</p>",
    });
    await wrangler.write("src/bytes.bin", Uint8Array.of(0, 255, 13, 10));
    await wrangler.write("src/add.wasm", ADD_WASM);
  });
  after(scope.close);

  const visit = async (worker: string, path?: string): Promise<WorkerResponse> =>
    JSON.parse((await platform.visit(worker, path)).text) as WorkerResponse;
  const crons = async (worker: string) => {
    const { schedules } = await platform.ask<{ schedules: { cron: string }[] }>(
      `/accounts/${platform.account}/workers/scripts/${worker}/schedules`,
    );
    return schedules.map(({ cron }) => cron);
  };

  it("whoami shows the user, the kind of token and the account", async () => {
    const { text } = await wrangler.run(["whoami"]);
    assert.match(text, /You are logged in with an User API Token, associated with the email \S+@\S+/);
    assert.ok(text.includes(platform.account), text);
  });

  it("whoami finds the only account automatically, and prints it as JSON", async () => {
    const { stdout } = await wrangler.run(["whoami", "--json"], { env: { CLOUDFLARE_ACCOUNT_ID: "" } });
    const result = JSON.parse(stdout) as { loggedIn: boolean; accounts: { id: string; name: string }[] };
    assert.deepEqual([result.loggedIn, result.accounts.map(({ id }) => id)], [true, [platform.account]]);
  });

  it("whoami accepts X-Auth-Email and X-Auth-Key", async () => {
    const { email } = await platform.ask<{ email: string }>("/user");
    const { text } = await wrangler.run(["whoami"], {
      env: { CLOUDFLARE_API_TOKEN: "", CLOUDFLARE_EMAIL: email, CLOUDFLARE_API_KEY: platform.token },
    });
    assert.match(text, /You are logged in with an? Global API Key/);
    assert.ok(text.includes(email) && text.includes(platform.account), text);
  });

  it("the first deploy uploads modules of every kind, variables and schedules, and prints the worker's URL", async () => {
    const { text } = await wrangler.run(["deploy", "--env", ""]);
    for (const part of [
      /Uploaded hello/,
      /env\.NAME \("world"\)/,
      /hello\.\S+\.localhost/,
      /schedule: \*\/5 \* \* \* \*/,
      /Current Version ID: [0-9a-f-]{36}/,
    ])
      assert.match(text, part);
    assert.deepEqual(await visit("hello", "/a/b?c"), {
      greeting: "Hello, world",
      list: [1, { two: 2 }],
      page: "<p>é</p>",
      bytes: [0, 255, 13, 10],
      sum: 42,
      at: "/a/b",
    });
    assert.deepEqual(await crons("hello"), ["*/5 * * * *", "0 3 * * 1"]);
  });

  it("a worker is also reachable by its hostname", async () => {
    const { status, text } = await platform.visitHost("hello", "/by-host");
    assert.deepEqual([status, (JSON.parse(text) as WorkerResponse).at], [200, "/by-host"]);
    assert.equal((await platform.visitHost("nobody")).status, 404);
    assert.equal((await platform.visit("nobody")).status, 404);
  });

  it("mail for the worker's address arrives over SMTP, and a rejection by the worker is returned to the sender", async () => {
    const to = `hello@${platform.label}.localhost`;
    assert.match(await platform.mail({ from: "friend@example.com", to }), /^250 /);
    await assert.rejects(
      platform.mail({ from: "spammer@example.com", to }),
      (error: { responseCode: number; response: string }) => {
        assert.deepEqual([error.responseCode, /We do not want that/.test(error.response)], [555, true]);
        return true;
      },
    );
    await assert.rejects(platform.mail({ from: "friend@example.com", to: `nobody@${platform.label}.localhost` }), {
      responseCode: 550,
    });
  });

  it("a later deploy replaces the code, keeps the URL and removes deleted schedules", async () => {
    await wrangler.write("src/greet.ts", GREET.replace("Hello", "Good day"));
    await wrangler.write("wrangler.jsonc", JSON.stringify({ ...CONFIG, triggers: { crons: ["0 4 * * *"] } }));
    const { text } = await wrangler.run(["deploy", "--env", "", "--message", "more polite", "--tag", "v2"]);
    assert.match(text, /Current Version ID: [0-9a-f-]{36}/);
    assert.equal((await visit("hello")).greeting, "Good day, world");
    assert.deepEqual(await crons("hello"), ["0 4 * * *"]);
  });

  it("triggers deploy changes only the schedules", async () => {
    await wrangler.write("wrangler.jsonc", JSON.stringify({ ...CONFIG, triggers: { crons: ["1 1 1 1 *"] }, vars: {} }));
    await wrangler.run(["triggers", "deploy", "--env", ""]);
    assert.deepEqual(await crons("hello"), ["1 1 1 1 *"]);
    assert.equal((await visit("hello")).greeting, "Good day, world");
  });

  it("--env deploys a separate worker alongside the first", async () => {
    await wrangler.write("wrangler.jsonc", JSON.stringify(CONFIG));
    const { text } = await wrangler.run(["deploy", "--env", "staging"]);
    assert.match(text, /Uploaded hello-staging/);
    assert.equal((await visit("hello-staging")).greeting, "Good day, staging");
    assert.equal((await visit("hello")).greeting, "Good day, world");
    assert.deepEqual(await crons("hello-staging"), []);
  });

  it("--config deploys the configuration in another file, and --dry-run deploys nothing", async () => {
    await wrangler.write(
      "other/conf.toml",
      `name = "other"\nmain = "./worker.js"\ncompatibility_date = "2026-10-01"\nworkers_dev = true\n\n[vars]\nNAME = "toml"\n`,
    );
    await wrangler.write(
      "other/worker.js",
      `export default { fetch: (request, env) => new Response("I am " + env.NAME) };\n`,
    );
    await wrangler.run(["deploy", "--config", "other/conf.toml", "--dry-run"]);
    assert.equal((await platform.visit("other")).status, 404);
    await wrangler.run(["deploy", "--config", "other/conf.toml", "--var", "NAME:named"]);
    assert.equal((await platform.visit("other")).text, "I am named");
  });

  it("a script in service-worker format also runs", async () => {
    await wrangler.write(
      "old/worker.js",
      `addEventListener("fetch", (event) => event.respondWith(new Response("old style " + NAME)));\n`,
    );
    await wrangler.write(
      "old/conf.jsonc",
      JSON.stringify({ name: "old", main: "worker.js", compatibility_date: "2026-10-01", vars: { NAME: "global" } }),
    );
    await wrangler.run(["deploy", "--config", "old/conf.jsonc"]);
    assert.equal((await platform.visit("old")).text, "old style global");
  });

  it("workers_dev: false disables the worker's hostname", async () => {
    await wrangler.write(
      "other/conf.toml",
      `name = "other"\nmain = "./worker.js"\ncompatibility_date = "2026-10-01"\nworkers_dev = false\n`,
    );
    await wrangler.run(["deploy", "--config", "other/conf.toml"]);
    assert.equal((await platform.visitHost("other")).status, 404);
  });

  it("delete removes the worker and its mail address", async () => {
    assert.match((await wrangler.run(["delete", "--env", "", "--force"])).text, /Successfully deleted hello/);
    assert.equal((await platform.visit("hello")).status, 404);
    await assert.rejects(platform.mail({ from: "friend@example.com", to: `hello@${platform.label}.localhost` }), {
      responseCode: 550,
    });
    assert.equal((await visit("hello-staging")).greeting, "Good day, staging");
  });
});
