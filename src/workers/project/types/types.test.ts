import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { createManualClock } from "../../../kernel/clock.ts";
import { writeTypes } from "./write.ts";

const packages = dirname(dirname(createRequire(import.meta.url).resolve("workerd/package.json")));
const clock = createManualClock(Date.parse("2026-11-20"));
const run = promisify(execFile);

async function folder(t: TestContext, files: Record<string, string>) {
  const root = await mkdtemp(join(tmpdir(), "reelpost-types-"));
  t.after(() => rm(root, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text);
  }
  return root;
}

const config = {
  name: "w",
  main: "src/index.ts",
  compatibility_date: "2026-10-01",
  send_email: [{ name: "SEB" }],
  kv_namespaces: [{ binding: "KV", id: "k" }],
  r2_buckets: [{ binding: "FILES", bucket_name: "files" }],
  d1_databases: [{ binding: "DB", database_id: "d" }],
  vars: {
    URL: 'https://example.com/"quoted"',
    LONG: "x".repeat(300),
    MODE: "dev",
    SETTINGS: { on: true, list: [1, "a", null], none: [], "odd key": {} },
    COUNT: 3,
    "ODD-NAME": "x",
    TOKEN: "replaced",
  },
  env: { production: { vars: { MODE: "production", COUNT: 5, SETTINGS: { on: false } } } },
};

const EXPECTED = `// Generated from wrangler.jsonc by \`reelpost types\`. Do not edit: changes are overwritten.
declare namespace Cloudflare {
  interface Env {
    SEB: SendEmail;
    KV: KVNamespace;
    FILES: R2Bucket;
    DB: D1Database;
    URL: "https://example.com/\\"quoted\\"";
    LONG: string;
    MODE: "dev" | "production";
    SETTINGS: { on: true; list: (1 | "a" | null)[]; none: unknown[]; "odd key": Record<string, never> } | { on: false };
    COUNT: 3 | 5;
    "ODD-NAME": "x";
    TOKEN: string;
    LATER: string;
  }
}
interface Env extends Cloudflare.Env {}
`;

test("the types of a project, and --check", async (t) => {
  const root = await folder(t, {
    "wrangler.jsonc": JSON.stringify({ ...config, secrets: { required: ["TOKEN", "LATER"] } }),
    "src/index.ts": "",
    ".dev.vars": "TOKEN=s",
  });
  assert.equal((await writeTypes({ cwd: root, clock }, { check: true })).changed, true);
  await assert.rejects(readFile(join(root, "worker-configuration.d.ts")), { code: "ENOENT" });
  assert.equal((await writeTypes({ cwd: root, clock })).changed, true);
  assert.equal(await readFile(join(root, "worker-configuration.d.ts"), "utf8"), EXPECTED);
  assert.equal((await writeTypes({ cwd: root, clock }, { check: true })).changed, false);
});

test("a project without bindings still gets an Env", async (t) => {
  const root = await folder(t, {
    "wrangler.jsonc": JSON.stringify({ name: "w", main: "i.js", compatibility_date: "2026-10-01" }),
    "i.js": "",
  });
  await writeTypes({ cwd: root, clock });
  assert.match(await readFile(join(root, "worker-configuration.d.ts"), "utf8"), /interface Env \{\n {2}\}/);
});

test("tsc accepts them with the runtime's types, and rejects invalid uses", { timeout: 60_000 }, async (t) => {
  const { env: _, ...rest } = config;
  const root = await folder(t, {
    "wrangler.jsonc": JSON.stringify(rest),
    ".dev.vars": "TOKEN=s",
    "tsconfig.json": JSON.stringify({
      compilerOptions: {
        target: "ES2022",
        module: "ES2022",
        lib: ["ES2022"],
        moduleResolution: "bundler",
        strict: true,
        types: ["@cloudflare/workers-types"],
        noEmit: true,
      },
    }),
    "src/index.ts": `import { env as global } from "cloudflare:workers";
export default {
  async email(message, env, ctx) {
    await env.SEB.send({ from: "a@example.com", to: "b@example.com", subject: "s", text: env.TOKEN });
    await env.KV.put("k", env.URL);
    await env.FILES.put("f", message.raw);
    await env.DB.prepare("SELECT 1").run();
    const count: number = env.COUNT + global.COUNT;
    const mode: "dev" = env.MODE;
    const first: number | string | null | undefined = env.SETTINGS.list[0];
    console.log(count, mode, first, env["ODD-NAME"], ctx);
  },
} satisfies ExportedHandler<Env>;
`,
    "src/wrong.ts":
      "export const wrong = (env: Env) => env.MISSING;\nexport const wide = (env: Env): 4 => env.COUNT;\n",
  });
  await mkdir(join(root, "node_modules/@cloudflare"), { recursive: true });
  await symlink(join(packages, "@cloudflare/workers-types"), join(root, "node_modules/@cloudflare/workers-types"));
  await writeTypes({ cwd: root, clock });
  const tsc = join(packages, ".bin/tsc");
  const failed = await run(tsc, ["-p", root], { cwd: root }).then(
    () => assert.fail("tsc found no errors"),
    (error: { stdout: string }) => error.stdout,
  );
  assert.deepEqual(
    failed
      .trim()
      .split("\n")
      .map((line) => line.slice(0, line.indexOf(": error"))),
    ["src/wrong.ts(1,40)", "src/wrong.ts(2,38)"],
    failed,
  );
});
