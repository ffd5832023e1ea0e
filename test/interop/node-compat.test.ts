import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { runCli } from "../../src/cli/cli.testing.ts";
import type { Wrangler } from "../support/wrangler.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const MODULES = [
  "assert",
  "async_hooks",
  "buffer",
  "child_process",
  "console",
  "crypto",
  "diagnostics_channel",
  "dns",
  "events",
  "fs",
  "fs/promises",
  "http",
  "https",
  "module",
  "net",
  "os",
  "path",
  "perf_hooks",
  "process",
  "punycode",
  "querystring",
  "readline",
  "stream",
  "string_decoder",
  "timers",
  "tls",
  "tty",
  "url",
  "util",
  "v8",
  "vm",
  "worker_threads",
  "zlib",
];
/** nodejs_compat without polyfills, the first date with them, dates at which workerd gained modules, and the newest. */
const DATES = ["2024-06-01", "2024-09-23", "2025-02-14", "2025-09-15", "2026-03-01", "2026-10-01"];

/** Returns the exports of each module, or that it is missing, and the type of each global. */
const WORKER = `
const imports = {
${MODULES.map((name) => `  "${name}": () => import("node:${name}"),`).join("\n")}
};
const GLOBALS = ["Buffer", "process", "global", "setImmediate", "clearImmediate", "console", "performance", "navigator"];
export default {
  async fetch() {
    const found = {};
    for (const [name, load] of Object.entries(imports))
      found[name] = await load().then((module) => Object.keys(module).sort().join(" "), () => "missing");
    for (const name of GLOBALS) found[\`global \${name}\`] = typeof globalThis[name];
    found["process.nextTick"] = typeof globalThis.process?.nextTick;
    return Response.json(found);
  },
};
`;

describe("modules of Node.js", () => {
  const scope = createScope();
  let platform: Platform;
  let wrangler: Wrangler;
  before(async () => {
    platform = await startPlatform(scope);
    wrangler = await platform.wrangler({ "index.js": WORKER });
  });
  after(scope.close);

  const exportsOf = async (worker: string) => JSON.parse((await platform.visit(worker)).text) as Record<string, string>;

  for (const flags of [["nodejs_compat"], []])
    for (const date of DATES)
      test(`${date} ${flags.join() || "without the flag"}: reelpost deploy provides those that wrangler deploy provides`, async () => {
        const name = `node-${date}-${flags.length}`;
        const config = { main: "index.js", compatibility_date: date, compatibility_flags: flags };
        await wrangler.write(`${name}.json`, JSON.stringify({ ...config, name: `${name}-w` }));
        const ours = join(wrangler.folder, `${name}.ours`);
        await mkdir(dirname(ours), { recursive: true });
        await writeFile(`${ours}.json`, JSON.stringify({ ...config, name: `${name}-r` }));
        const env = {
          REELPOST_API_BASE_URL: platform.api,
          REELPOST_API_TOKEN: platform.token,
          REELPOST_API_RATE_LIMIT: "0",
        };
        const deploy = await runCli(["deploy", "--config", `${ours}.json`], { cwd: wrangler.folder, env });
        assert.equal(deploy.code, 0, deploy.stdout + deploy.stderr);
        await wrangler.run(["deploy", "--config", `${name}.json`]);
        const [expected, actual] = [await exportsOf(`${name}-w`), await exportsOf(`${name}-r`)];
        assert.deepEqual(actual, expected);
        // Without polyfills, the same worker finds fewer modules.
        const missing = Object.values(actual).filter((keys) => keys === "missing").length;
        if (flags.length > 0 && date >= "2024-09-23") assert.equal(missing, 0);
        if (flags.length === 0) assert.ok(missing > 0 || date >= "2026-08-04", `${missing} are missing`);
      });
});
