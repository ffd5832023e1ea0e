import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { DevEvent } from "../../src/dev/index.ts";
import {
  isEmail,
  isKind,
  mailer,
  makeProject,
  message,
  serve,
  writeProjectFile,
  type TestServer,
} from "./dev-bench.ts";

const answering = (text: string) => `export default { fetch: () => new Response(${JSON.stringify(text)}) };`;
const ask = async ({ url }: TestServer) => (await fetch(url)).text();

/** Waits for an event that comes after this call. */
function next<K extends DevEvent["event"]>(server: TestServer, kind: K): Promise<Extract<DevEvent, { event: K }>> {
  const before = new Set(server.events);
  const isNew = (event: DevEvent): event is Extract<DevEvent, { event: K }> =>
    isKind(kind)(event) && !before.has(event);
  return server.event(isNew);
}

/** Resolves when the worker responds with this text, which it does after one of the next builds. */
async function untilAnswer(server: TestServer, text: string): Promise<void> {
  for (;;) {
    const built = next(server, "built");
    if ((await ask(server)) === text) return;
    await built;
  }
}

describe("rebuilding on change", () => {
  it("runs the new code if a file is modified, replaced, or created", async (t) => {
    const folder = await makeProject(t, { "src/index.ts": answering("one") });
    const server = await serve(t, folder);
    assert.equal(await ask(server), "one");

    const nextBuild = next(server, "built");
    // A build may read the file before it is complete.
    await writeFile(join(folder, "src/index.ts"), answering("two"));
    assert.equal((await nextBuild).reason, "change");
    await untilAnswer(server, "two");

    await writeProjectFile(folder, "src/text.ts", `export const text = "three";`);
    await writeProjectFile(
      folder,
      "src/index.ts",
      `import { text } from "./text.ts"; export default { fetch: () => new Response(text) };`,
    );
    await untilAnswer(server, "three");

    await writeFile(join(folder, "src/text.ts"), `export const text = "four";`);
    await untilAnswer(server, "four");
  });

  it("runs the build command again if a file in its folder changes", async (t) => {
    const folder = await makeProject(
      t,
      {
        "pages/text.txt": "one",
        "build.cjs": `const { readFileSync, writeFileSync } = require("node:fs");
const text = readFileSync("pages/text.txt", "utf8");
writeFileSync("out.js", \`export default { fetch: () => new Response(\${JSON.stringify(text)}) };\`);`,
      },
      { main: "out.js", build: { command: "node build.cjs", watch_dir: "pages" } },
    );
    const server = await serve(t, folder);
    assert.equal(await ask(server), "one");
    const built = next(server, "built");
    await writeProjectFile(folder, "pages/text.txt", "two");
    await built;
    assert.equal(await ask(server), "two");
  });

  it("prints errors and keeps running the old version until they are fixed", async (t) => {
    const folder = await makeProject(t, { "src/index.ts": answering("good") });
    const server = await serve(t, folder);
    let failed = next(server, "build-failed");
    await writeProjectFile(folder, "src/index.ts", "export default { fetch( { return }");
    const failure = await failed;
    assert.equal(failure.running, true);
    assert.match(failure.message, /src\/index\.ts:1:\d+/);
    assert.equal(await ask(server), "good");

    failed = next(server, "build-failed");
    await writeProjectFile(
      folder,
      "src/index.ts",
      `import { text } from "./missing.ts"; export default { fetch: () => new Response(text) };`,
    );
    assert.match((await failed).message, /missing\.ts/);
    const built = next(server, "built");
    await writeProjectFile(folder, "src/missing.ts", `export const text = "found";`);
    await built;
    assert.equal(await ask(server), "found");
  });

  it("reports for each message which build handled it while the latest build is broken", async (t) => {
    const handler = `export default { email() {} };`;
    const folder = await makeProject(t, { "src/index.ts": "export default {" });
    const server = await serve(t, folder);
    const transport = mailer(t, server);
    await assert.rejects(transport.sendMail({ from: "ada@example.com", to: "in@example.org", text: "hi" }), {
      responseCode: 451,
    });
    const unbuiltEvent = await server.event(isEmail);
    assert.match(unbuiltEvent.warnings.join(), /the worker has no working build: test cannot run: /);

    let nextBuild = next(server, "built");
    await writeProjectFile(folder, "src/index.ts", handler);
    await nextBuild;
    const warningsOf = async () => {
      const email = next(server, "email");
      await transport.sendMail({ from: "ada@example.com", to: "in@example.org", text: "hi" });
      return (await email).warnings;
    };
    assert.deepEqual(await warningsOf(), []);
    const nextFailure = next(server, "build-failed");
    await writeProjectFile(folder, "src/index.ts", "export default {");
    await nextFailure;
    assert.deepEqual(await warningsOf(), ["the latest build failed, so the last working build handled this message"]);
    nextBuild = next(server, "built");
    await writeProjectFile(folder, "src/index.ts", `${handler} console.log("repaired");`);
    await nextBuild;
    assert.deepEqual(await warningsOf(), []);
  });

  it("explains why the runtime rejects the code", async (t) => {
    const folder = await makeProject(
      t,
      { "src/index.ts": answering("good") },
      { compatibility_date: "2024-01-01", vars: { MODE: "test" } },
    );
    const server = await serve(t, folder);
    for (const [source, explanation] of [
      [
        `import os from "node:os"; export const name = os.type(); ${answering("never")}`,
        /\nFix: Add "nodejs_compat" to compatibility_flags\.$/,
      ],
      [`export const mode = MODE; ${answering("never")}`, /\nFix: Use env\.MODE\.$/],
    ] as const) {
      const failed = next(server, "build-failed");
      await writeProjectFile(folder, "src/index.ts", source);
      assert.match((await failed).message, explanation);
    }
  });

  it("keeps running the old version if the runtime rejects the new code", async (t) => {
    const folder = await makeProject(t, { "src/index.ts": answering("good") });
    const server = await serve(t, folder);
    const failed = next(server, "build-failed");
    await writeProjectFile(folder, "src/index.ts", `throw new Error("at the top"); ${answering("never")}`);
    assert.match((await failed).message, /at the top/);
    assert.equal(await ask(server), "good");
  });

  it("starts even if no version builds, reports it, and recovers", async (t) => {
    const folder = await makeProject(t, { "src/index.ts": "export default {" });
    const server = await serve(t, folder);
    assert.equal((await fetch(server.url)).status, 503);
    const refused = await server.post(message());
    assert.equal(refused.status, 503);
    assert.match(refused.text, /test cannot run:/);
    const built = next(server, "built");
    await writeProjectFile(folder, "src/index.ts", answering("mended"));
    await built;
    assert.equal(await ask(server), "mended");
  });

  it("reloads the configuration and .dev.vars", async (t) => {
    const config = (greeting: string) =>
      JSON.stringify({
        name: "test",
        main: "src/index.ts",
        compatibility_date: "2026-10-01",
        vars: { GREETING: greeting },
      });
    const folder = await makeProject(t, {
      "wrangler.jsonc": config("hello"),
      "src/index.ts": `export default { fetch: (request, env) => new Response(env.GREETING + " " + env.SECRET) };`,
    });
    const server = await serve(t, folder);
    assert.equal(await ask(server), "hello undefined");
    let built = next(server, "built");
    await writeProjectFile(folder, "wrangler.jsonc", config("good day"));
    await built;
    built = next(server, "built");
    await writeProjectFile(folder, ".dev.vars", "SECRET=s3cret\n");
    await built;
    assert.equal(await ask(server), "good day s3cret");
    const failed = next(server, "build-failed");
    await writeProjectFile(folder, "wrangler.jsonc", `{ "name": 5 }`);
    assert.match((await failed).message, /"name"/);
    built = next(server, "built");
    await writeProjectFile(folder, "wrangler.jsonc", config("back"));
    await built;
    assert.equal(await ask(server), "back s3cret");
  });

  it("combines many changes into few builds, and ends with the latest version", async (t) => {
    const folder = await makeProject(t, { "src/index.ts": answering("start") });
    const server = await serve(t, folder);
    // Synchronous, so that the pauses between the changes do not depend on the load of the machine.
    for (let i = 1; i <= 40; i++) writeFileSync(join(folder, "src/index.ts"), answering(`change ${i}`));
    await untilAnswer(server, "change 40");
    const builds = server.events.filter(isKind("built")).length - 1;
    assert.ok(builds <= 10, `${builds} builds`);
  });

  it("loses no message while versions change under load, over HTTP and SMTP", async (t) => {
    const worker = (
      version: number,
    ) => `export default { async email(message, env) { await env.KV.put(message.headers.get("x-number"), "${version}"); }, async fetch(request, env) {
      const { keys } = await env.KV.list({ prefix: new URL(request.url).pathname.slice(1) }); return Response.json(keys.map((key) => key.name)); } };`;
    const folder = await makeProject(
      t,
      { "src/index.ts": worker(0) },
      { kv_namespaces: [{ binding: "KV", id: "numbers" }] },
    );
    const server = await serve(t, folder);
    const client = mailer(t, server, { pool: true, maxConnections: 2, maxMessages: Infinity });
    const load = { on: true };
    const sent: string[] = [];
    const senders = [0, 1, 2, 3, 4, 5].map(async (lane) => {
      // A page of a KV list has up to 1000 keys.
      for (let i = 0; load.on && i < 1000; i++) {
        const number = `${lane}-${i}`;
        if (lane < 4) {
          const { status, text } = await server.post(message({ "X-Number": number }));
          assert.equal(status, 200, text);
        } else {
          await client.sendMail({
            from: "ada@example.com",
            to: "inbox@example.org",
            text: "x",
            headers: { "X-Number": number },
          });
        }
        sent.push(number);
      }
    });
    for (let version = 1; version <= 5; version++) {
      const built = next(server, "built");
      await writeProjectFile(folder, "src/index.ts", worker(version));
      await built;
    }
    load.on = false;
    await Promise.all(senders);

    const stored: string[] = [];
    for (const lane of [0, 1, 2, 3, 4, 5])
      stored.push(...((await (await fetch(`${server.url}/${lane}-`)).json()) as string[]));
    assert.ok(sent.length > 50, `${sent.length} messages`);
    assert.deepEqual(stored.filter((number) => sent.includes(number)).length, sent.length);
    const versions = new Set(server.events.filter(isEmail).map(({ outcome }) => outcome));
    assert.deepEqual([...versions], ["ok"]);
  });
});
