import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { UserError } from "../../src/kernel/index.ts";
import { makeProject, message, serve } from "./dev-bench.ts";

const WORKER = `export default { email(message) { if (message.to.startsWith("loop")) for (;;); } };`;

describe("REELPOST_ variables", () => {
  it("set the limits of workers and the data directory unless a more specific setting does", async (t) => {
    const folder = await makeProject(t, { "src/index.ts": WORKER });
    const server = await serve(t, folder, {
      env: { REELPOST_WORKERS_CPU_MS: "150", REELPOST_DATA_DIR: "elsewhere", REELPOST_HTTP_HOST: "127.0.0.2" },
    });
    assert.deepEqual([server.dataDir, new URL(server.url).hostname], [join(folder, "elsewhere"), "127.0.0.2"]);
    const { status, text } = await server.post(message({}), "from=a@example.com&to=loop@example.com");
    assert.equal(status, 500);
    assert.match(text, /CPU time limit of 150 ms/);
  });

  it("are overridden by the project's own file", async (t) => {
    const folder = await makeProject(t, { "src/index.ts": WORKER }, { limits: { cpu_ms: 120 } });
    const server = await serve(t, folder, { env: { REELPOST_WORKERS_CPU_MS: "60000" } });
    assert.match(
      (await server.post(message({}), "from=a@example.com&to=loop@example.com")).text,
      /CPU time limit of 120 ms/,
    );
  });

  it("are all reported together if they are invalid", async (t) => {
    const folder = await makeProject(t, { "src/index.ts": WORKER });
    await assert.rejects(
      serve(t, folder, { env: { REELPOST_WORKERS_CPU_MS: "soon", REELPOST_HTTP_PORT: "70000" } }),
      (err: unknown) => {
        assert.ok(err instanceof UserError);
        assert.match(err.message, /REELPOST_WORKERS_CPU_MS/);
        assert.match(err.message, /REELPOST_HTTP_PORT/);
        return true;
      },
    );
  });
});
