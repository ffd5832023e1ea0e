import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { UserError } from "../../src/kernel/index.ts";
import type { DevLimits } from "../../src/dev/index.ts";
import {
  createScope,
  isEmail,
  isKind,
  mailer,
  makeProject,
  message,
  serve,
  writeProjectFile,
  type TestServer,
} from "./dev-bench.ts";

const BAD = `
export default {
  async email(message) {
    switch (message.headers.get("subject")) {
      case "throw": throw new RangeError("thrown on purpose");
      case "throw nothing": throw undefined;
      case "loop": for (;;);
      case "heap": { const all = []; for (;;) all.push(new Array(1000).fill(Math.random())); }
      case "buffers": { const all = []; for (;;) { all.push(new Uint8Array(8 << 20).fill(1)); await scheduler.wait(1); } }
      case "never": return new Promise(() => {});
      case "slow": return scheduler.wait(60_000);
      case "rejection": Promise.reject(new Error("nobody caught this")); return;
      case "no handler": return message.nothing.at.all();
    }
  },
};
`;
const GOOD = `export default { async email(message) {}, fetch: () => new Response("good") };`;

describe("workers that misbehave", () => {
  const scope = createScope();
  let server: TestServer;
  /** A separate server for each limit: on a busy machine, another limit is occasionally reached first. */
  let narrow: TestServer;
  let impatient: TestServer;
  before(async () => {
    server = await serveBoth({ cpuMs: 700 });
    narrow = await serveBoth({ heapMb: 64, rssMb: 256 });
    impatient = await serveBoth({ emailWallMs: 1500 });
  });

  async function serveBoth(limits: NonNullable<DevLimits["runtime"]>) {
    const folder = await makeProject(
      scope,
      {
        "src/index.ts": BAD,
        "good/index.js": GOOD,
        "good/wrangler.jsonc": JSON.stringify({ name: "good", main: "index.js", compatibility_date: "2026-10-01" }),
      },
      { name: "bad" },
    );
    return serve(scope, folder, { configs: ["wrangler.jsonc", "good/wrangler.jsonc"], limits: { runtime: limits } });
  }
  after(scope.close);

  /** Sends the message and meanwhile calls the other worker repeatedly. */
  async function misbehave(subject: string, on = server) {
    const flight = { over: false };
    const answer = on
      .post(
        message({ Subject: subject }),
        `from=a@example.com&to=${encodeURIComponent(subject)}@bad.example&format=json`,
      )
      .finally(() => (flight.over = true));
    do {
      const response = await fetch(`${on.url}/cdn-cgi/worker/good/`);
      assert.equal(await response.text(), "good");
    } while (!flight.over);
    const { status, text } = await answer;
    const event = await on.event((e) => isEmail(e) && e.to === `${subject}@bad.example`);
    assert.ok(isEmail(event));
    return {
      status,
      body: JSON.parse(text) as {
        outcome: string;
        x_outcome?: string;
        x_exception?: { name: string; message: string };
      },
      event,
    };
  }

  const cases: Record<string, { outcome: RegExp; message: RegExp }> = {
    throw: { outcome: /^exception$/, message: /thrown on purpose/ },
    "throw nothing": { outcome: /^exception$/, message: /undefined/ },
    loop: { outcome: /^exceededCpu$/, message: /CPU/i },
    heap: { outcome: /^exceededMemory$/, message: /memory/i },
    buffers: { outcome: /^exceededMemory$/, message: /memory/i },
    // workerd detects that the promise can never resolve before the time limit is reached.
    never: { outcome: /^(exception|exceededWallTime)$/, message: /./ },
    slow: { outcome: /^exceededWallTime$/, message: /wall time/i },
    "no handler": { outcome: /^exception$/, message: /reading 'at'/ },
  };
  for (const [subject, { outcome, message: text }] of Object.entries(cases)) {
    it(`${subject}: reports the specific error without affecting the other worker`, async () => {
      const on = outcome.test("exceededMemory") ? narrow : outcome.test("exceededWallTime") ? impatient : server;
      const { status, body, event } = await misbehave(subject, on);
      assert.equal(status, 500);
      assert.equal(body.outcome, "exception");
      assert.match(body.x_outcome!, outcome);
      assert.match(body.x_exception!.message, text);
      assert.match(event.outcome, outcome);
      assert.match(event.exceptions[0]!.message, text);
      assert.equal((await on.post(message(), "from=a@example.com&to=after@bad.example")).status, 200);
    });
  }

  it("are reported for an unhandled rejection", async () => {
    assert.equal((await misbehave("rejection")).status, 200);
    await server.event((event) => JSON.stringify(event).includes("nobody caught this"));
  });

  it("leave the message with the SMTP client, because a killed handler causes a temporary failure", async (t) => {
    const client = mailer(t, server);
    await assert.rejects(
      client.sendMail({ from: "a@example.com", to: "loop@bad.example", subject: "loop", text: "x" }),
      /451/,
    );
  });
});

describe("projects that cannot run", () => {
  const refused = async (
    t: { after(stop: () => unknown): void },
    config: Record<string, unknown>,
    files: Record<string, string> = { "src/index.ts": GOOD },
  ) =>
    serve(t, await makeProject(t, files, config)).then(
      () => assert.fail("the server started"),
      (err: unknown) => {
        assert.ok(err instanceof UserError, String(err));
        return err.message;
      },
    );

  it("are reported if the compatibility date is in the future", async (t) => {
    assert.match(
      await refused(t, { compatibility_date: "2999-01-01" }),
      /wrangler\.jsonc:1:\d+: error: .*compatibility_date.*future/s,
    );
  });

  it("are reported with all mistakes together, and their locations", async (t) => {
    const text = await refused(t, {
      compatibility_date: "2026-13-01",
      kv_namespaces: [{ id: "x" }],
      main: "src/indx.ts",
    });
    for (const part of [/compatibility_date/, /kv_namespaces\[0\]\.binding/, /did you mean "src\/index\.ts"/])
      assert.match(text, part);
  });

  it("are reported if two workers have the same name", async (t) => {
    const folder = await makeProject(t, { "src/index.ts": GOOD });
    await writeProjectFile(
      folder,
      "again/wrangler.jsonc",
      JSON.stringify({ name: "test", main: "../src/index.ts", compatibility_date: "2026-10-01" }),
    );
    await assert.rejects(
      serve(t, folder, { configs: ["wrangler.jsonc", "again/wrangler.jsonc"] }),
      /use the same worker name: test/,
    );
  });

  it("are reported with the source location of code that throws while loading", async (t) => {
    const server = await serve(
      t,
      await makeProject(t, {
        "src/index.ts": `interface Gone { x: 1 }\n\nconst answer = (): number => {\n  throw new TypeError("at load");\n};\nexport default { x: answer() };`,
      }),
    );
    const { message } = await server.event(isKind("build-failed"));
    assert.match(message, /TypeError: at load[^]*index\.ts:4:\d+/);
  });

  it("reports an unknown binding type and runs the worker without the binding", async (t) => {
    const server = await serve(
      t,
      await makeProject(t, { "src/index.ts": GOOD }, { teleporters: [{ binding: "BEAM" }] }),
    );
    const { text } = await server.event(isKind("warning"));
    assert.match(text, /wrangler\.jsonc:1:\d+: warning: unknown field "teleporters"/);
    assert.equal(await (await fetch(server.url)).text(), "good");
  });
});
