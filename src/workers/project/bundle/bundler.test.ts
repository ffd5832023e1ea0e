import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { watch } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { SourceMap, createRequire } from "node:module";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { createManualClock } from "../../../kernel/clock.ts";
import { UserError } from "../../../kernel/errors.ts";
import { formatProblems } from "../../../kernel/config/index.ts";
import { readProject } from "../config/read.ts";
import { type BundlerOptions, createBundler } from "./bundler.ts";

const packages = dirname(dirname(createRequire(import.meta.url).resolve("workerd/package.json")));

type Files = Record<string, string | Uint8Array>;

async function write(root: string, files: Files) {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), content);
  }
}

/** Resolves with a project in its own folder, with the packages it uses linked into it. */
async function project(
  t: TestContext,
  files: Files,
  options: { config?: object; packages?: string[]; bundler?: BundlerOptions } = {},
) {
  const root = await mkdtemp(join(tmpdir(), "reelpost-bundle-"));
  t.after(() => rm(root, { recursive: true, force: true }));
  await write(root, {
    "wrangler.jsonc": JSON.stringify({
      name: "w",
      main: "src/index.ts",
      compatibility_date: "2026-10-01",
      ...options.config,
    }),
    ...files,
  });
  for (const name of options.packages ?? []) {
    await mkdir(dirname(join(root, "node_modules", name)), { recursive: true });
    await symlink(join(packages, name), join(root, "node_modules", name));
  }
  const bundler = createBundler(
    await readProject({ cwd: root, clock: createManualClock(Date.parse("2026-11-20")) }),
    options.bundler,
  );
  t.after(() => bundler.close());
  return { root, bundler };
}

type Bundler = Awaited<ReturnType<typeof project>>["bundler"];

async function refusal(bundler: Bundler): Promise<string> {
  const error = await bundler.build().then(
    () => assert.fail("the build succeeded"),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof UserError, String(error));
  return error.message;
}

const codeOf = ({ script }: Awaited<ReturnType<Bundler["build"]>>) => String(script.modules[0]!.content);

// (module (func (export "answer") (result i32) i32.const 42))
const WASM = Uint8Array.from([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 127, 3, 2, 1, 0, 7, 10, 1, 6, 97, 110, 115, 119, 101, 114, 0, 0, 10,
  6, 1, 4, 0, 65, 42, 11,
]);

test("packages are bundled, text, data and wasm become separate modules, and imports of platform modules are kept", async (t) => {
  const { root, bundler } = await project(
    t,
    {
      "src/index.ts": `
      import PostalMime from "postal-mime";
      import { createMimeMessage } from "mimetext";
      import { EmailMessage } from "cloudflare:email";
      import { readFileSync } from "fs";
      import { Buffer } from "node:buffer";
      import text from "./greeting.txt";
      import page from "../pages/page.html";
      import data from "./blob.bin";
      import wasm from "./answer.wasm";
      import same from "./copy/greeting.txt";
      import settings from "./settings.json";
      export class Other {}
      export default { async email(message: unknown): Promise<void> { console.log(PostalMime, createMimeMessage, EmailMessage, readFileSync, Buffer, text, page, data, wasm, same, settings.a, process.env.NODE_ENV); } };`,
      "src/greeting.txt": "hello ☀",
      "src/copy/greeting.txt": "hello ☀",
      "pages/page.html": "<p>",
      "src/blob.bin": Uint8Array.from([0, 255, 1]),
      "src/answer.wasm": WASM,
      "src/settings.json": `{ "a": "from json" }`,
    },
    { packages: ["postal-mime", "mimetext"] },
  );
  const build = await bundler.build();
  const { script } = build;
  const sha1 = (content: string | Uint8Array) => createHash("sha1").update(content).digest("hex");
  const byFile = Object.fromEntries(
    script.modules.slice(1).map((module) => [module.name.replace(`./${sha1(module.content)}-`, ""), module]),
  );
  assert.deepEqual(Object.keys(byFile).sort(), ["answer.wasm", "blob.bin", "greeting.txt", "page.html"]);
  assert.deepEqual([byFile["greeting.txt"]!.kind, byFile["greeting.txt"]!.content], ["text", "hello ☀"]);
  assert.deepEqual([byFile["blob.bin"]!.kind, byFile["blob.bin"]!.content], ["data", Uint8Array.from([0, 255, 1])]);
  assert.deepEqual([byFile["answer.wasm"]!.kind, byFile["answer.wasm"]!.content], ["wasm", WASM]);
  assert.deepEqual(
    [script.name, script.format, script.main, script.compatibilityDate],
    ["w", "modules", "index.js", "2026-10-01"],
  );

  const code = codeOf(build);
  const imports = [...code.matchAll(/^import .*?from "([^"]+)";/gm)].map(([, from]) =>
    from!.replace(/[0-9a-f]{40}/, "<sha1>"),
  );
  // mimetext imports node:os and node:path.
  assert.deepEqual([...new Set(imports)].sort(), [
    "./<sha1>-answer.wasm",
    "./<sha1>-blob.bin",
    "./<sha1>-greeting.txt",
    "./<sha1>-page.html",
    "cloudflare:email",
    "node:buffer",
    "node:fs",
    "node:os",
    "node:path",
  ]);
  assert.match(code, /from json/);
  assert.match(code, /"development"/);
  assert.doesNotMatch(code, /sourceMappingURL/);
  assert.deepEqual(build.sources, [join(root, "src/index.ts")]);
  assert.ok(
    bundler.watchFiles().includes(join(root, "src/copy/greeting.txt")) &&
      bundler.watchFiles().includes(join(root, "src/settings.json")),
  );
  assert.ok(build.bytes > 10_000);
});

test("the source map maps from the bundle to the original line", async (t) => {
  const { bundler } = await project(t, {
    "src/index.ts": `import { fail } from "./fail.ts";\nexport default { email: fail };`,
    "src/fail.ts": `interface Unused {}\n\nexport function fail() {\n  throw new Error("here");\n}\n`,
  });
  const build = await bundler.build();
  const lines = codeOf(build).split("\n");
  const line = lines.findIndex((text) => text.includes("throw new Error"));
  const origin = new SourceMap(JSON.parse(build.script.sourceMap!)).findEntry(line, lines[line]!.indexOf("throw"));
  assert.deepEqual("originalSource" in origin && [origin.originalSource, origin.originalLine, origin.originalColumn], [
    "src/fail.ts",
    3,
    2,
  ]);
});

test("a rebuild detects changes of code, imported files and the format", async (t) => {
  const { root, bundler } = await project(t, {
    "src/index.ts": `import text from "./a.txt";\nexport default { fetch: () => text };`,
    "src/a.txt": "one",
  });
  const first = await bundler.build();
  const again = await bundler.build();
  assert.equal(again.digest, first.digest);
  assert.notEqual(again.script.version, first.script.version);
  assert.equal(again.script.modules.length, 2);

  await write(root, { "src/a.txt": "two" });
  const changed = await bundler.build();
  assert.notEqual(changed.digest, first.digest);
  assert.deepEqual(
    changed.script.modules.slice(1).map(({ content }) => content),
    ["two"],
  );

  await write(root, {
    "src/index.ts": `import text from "./a.txt";\naddEventListener("fetch", (event: any) => event.respondWith(new Response(text)));`,
  });
  const service = await bundler.build();
  assert.equal(service.script.format, "service-worker");
  assert.deepEqual(
    service.script.modules.map(({ name }) => name),
    ["index.js"],
  );
  assert.match(codeOf(service), /two/);
  assert.doesNotMatch(codeOf(service), /^(import|export) /m);

  await write(root, { "src/index.ts": "export default { fetch: () => 3 };" });
  assert.equal((await bundler.build()).script.format, "modules");
});

test("a service worker gets data inline and cannot import wasm", async (t) => {
  const { root, bundler } = await project(t, {
    "src/index.ts": `import data from "./a.bin";\naddEventListener("fetch", () => data);`,
    "src/a.bin": "\u0001x",
    "src/a.wasm": WASM,
  });
  assert.match(codeOf(await bundler.build()), /atob\("AXg="\)/);
  await write(root, { "src/index.ts": `import w from "./a.wasm";\naddEventListener("fetch", () => w);` });
  assert.equal(
    await refusal(bundler),
    `Cannot build w: 1 error

src/index.ts:1:15: error: a worker in service-worker format cannot import WebAssembly
    1 | import w from "./a.wasm";
      |               ^^^^^^^^^^
  fix: export a default object from the main module: export default { async email(message, env, ctx) {} }`,
  );
});

test("errors in the code have a position, code frame and fix, and the next build recovers", async (t) => {
  const { root, bundler } = await project(t, {
    "src/index.ts": `// ☀\nimport PostalMime from "postal-mime";\nimport { helper } from "./helper";\nimport { nothing } from "./there.ts";\n/* ☀ */ import os from "@scope/pkg/deep";\nexport default { email() { helper(nothing, PostalMime, os); } };\n`,
    "src/there.ts": "export const something = 1;\n",
  });
  assert.equal(
    await refusal(bundler),
    `Cannot build w: 3 errors

src/index.ts:2:24: error: could not resolve "postal-mime"
    2 | import PostalMime from "postal-mime";
      |                        ^^^^^^^^^^^^^
  fix: npm install postal-mime
src/index.ts:3:24: error: could not resolve "./helper"
    3 | import { helper } from "./helper";
      |                        ^^^^^^^^^^
  fix: check the path; it is relative to the importing file
src/index.ts:5:24: error: could not resolve "@scope/pkg/deep"
    5 | /* ☀ */ import os from "@scope/pkg/deep";
      |                        ^^^^^^^^^^^^^^^^^
  fix: npm install @scope/pkg`,
  );
  assert.ok(bundler.watchFiles().includes(join(root, "src/there.ts")));
  await write(root, { "src/index.ts": `import { nothing } from "./there.ts";\nexport default { email: nothing };` });
  assert.equal(
    await refusal(bundler),
    `Cannot build w: 1 error

src/index.ts:1:10: error: no matching export in "src/there.ts" for import "nothing"
    1 | import { nothing } from "./there.ts";
      |          ^^^^^^^`,
  );
  await write(root, { "src/index.ts": "export default { email() { return 1 };\n" });
  assert.equal(
    await refusal(bundler),
    `Cannot build w: 1 error

src/index.ts:1:38: error: expected "}" but found ";"
    1 | export default { email() { return 1 };
      |                                      ^`,
  );
  await write(root, { "src/index.ts": "export default { email() { return 1 } };\n" });
  assert.equal((await bundler.build()).script.format, "modules");
});

test("imports of Node's modules are kept with nodejs_compat; without it, each gets a hint", async (t) => {
  const files = {
    "src/index.ts": `import { EventEmitter } from "events";\nimport os from "node:os";\nimport dep from "dep";\nexport default { fetch: () => [EventEmitter, os, dep] };`,
    "node_modules/dep/index.js": `module.exports = require("fs").readFileSync;`,
    "node_modules/dep/package.json": `{"name":"dep"}`,
  };
  const with_ = await project(t, files);
  const code = codeOf(await with_.bundler.build());
  assert.match(code, /from "node:events"/);
  assert.match(code, /from "node:os"/);
  assert.match(code, /import \w+ from "node:fs"/);

  const without = await project(t, files, { config: { compatibility_date: "2025-01-01" } });
  assert.equal(
    await refusal(without.bundler),
    `Cannot build w: 2 errors and 1 warning

node_modules/dep/index.js:1:26: error: could not resolve "fs"
    1 | module.exports = require("fs").readFileSync;
      |                          ^^^^
  fix: add "nodejs_compat" to compatibility_flags, or set compatibility_date to 2026-08-04 or later, which includes it
src/index.ts:1:30: error: could not resolve "events"
    1 | import { EventEmitter } from "events";
      |                              ^^^^^^^^
  fix: add "nodejs_compat" to compatibility_flags, or set compatibility_date to 2026-08-04 or later, which includes it
src/index.ts:2:16: warning: "node:os" is a Node.js module, but the worker runs without Node.js compatibility: it will not start
    2 | import os from "node:os";
      |                ^^^^^^^^^
  fix: add "nodejs_compat" to compatibility_flags, or set compatibility_date to 2026-08-04 or later, which includes it`,
  );
});

test("applies rules, alias, define and minify from the configuration", async (t) => {
  const files = {
    "src/index.ts": `import md from "./a.md";\nimport x from "x";\ndeclare const FLAG: string;\nexport default { fetch: () => [md, x, FLAG] };`,
    "src/a.md": "# a",
    "src/x.ts": "export default 'aliased';",
    "src/b.txt": "b",
  };
  const config = {
    rules: [{ type: "Text", globs: ["**/*.md"] }],
    alias: { x: "./src/x.ts" },
    define: { FLAG: '"defined"' },
    minify: true,
  };
  const { root, bundler } = await project(t, files, { config, bundler: { mode: "production" } });
  const build = await bundler.build();
  assert.equal(build.script.modules[1]!.content, "# a");
  assert.match(codeOf(build), /aliased/);
  assert.match(codeOf(build), /"defined"/);
  assert.ok(codeOf(build).split("\n").length < 6);
  await write(root, { "src/index.ts": `import b from "./b.txt";\nexport default { fetch: () => b };` });
  assert.match(
    await refusal(bundler),
    /"\.\/b\.txt" is not imported as a Text module: "rules" in the configuration replaces the default rule for it\n.*\n.*\n {2}fix: add "fallthrough": true to the Text rule/,
  );
});

test("no_bundle keeps the files unchanged, under their paths", async (t) => {
  const config = { main: "dist/index.js", no_bundle: true, rules: [{ type: "ESModule", globs: ["**/*.js"] }] };
  const { root, bundler } = await project(
    t,
    {
      "dist/index.js": `import { a } from "./lib/a.js";\nimport t from "./t.txt";\nexport default { fetch: () => [a, t] };`,
      "dist/lib/a.js": "export const a = 1;",
      "dist/t.txt": "t",
      "dist/node_modules/x/x.js": "",
      "dist/note.md": "",
    },
    { config },
  );
  const { script } = await bundler.build();
  assert.deepEqual(
    script.modules.map(({ name, kind }) => `${kind} ${name}`),
    ["esm index.js", "esm lib/a.js", "text t.txt"],
  );
  assert.equal(script.modules[0]!.content, await readFile(join(root, "dist/index.js"), "utf8"));
  const wrong = await project(t, { "src/index.ts": "export default {}" }, { config: { no_bundle: true } });
  assert.match(
    await refusal(wrong.bundler),
    /"no_bundle" is set and "main" is not JavaScript: index\.ts\n {2}fix: point "main" at the built \.js file/,
  );
});

test("reports an entry with exports but no default export", async (t) => {
  const { root, bundler } = await project(t, { "src/index.ts": "export const email = () => {};" });
  assert.equal(
    formatProblems((await bundler.build()).warnings, { cwd: root }),
    "src/index.ts: warning: exports email but no default: it is built as a service worker, and its exports are ignored\n  fix: export default { async email(message, env, ctx) {} }",
  );
});

test("finds a wasm file that a package contains but does not export", async (t) => {
  const { bundler } = await project(t, {
    "src/index.ts": `import w from "pkg/codec/a.wasm";\nexport default { fetch: () => w };`,
    "node_modules/pkg/package.json": `{"name":"pkg","exports":{".":"./index.js"}}`,
    "node_modules/pkg/index.js": "",
    "node_modules/pkg/codec/a.wasm": WASM,
  });
  assert.equal((await bundler.build()).script.modules[1]!.kind, "wasm");
});

test("a rebuild is fast, and concurrent builds run one after the other", async (t) => {
  const { root, bundler } = await project(
    t,
    {
      "src/index.ts": `import PostalMime from "postal-mime";\nimport { createMimeMessage } from "mimetext";\nexport default { email: () => [PostalMime, createMimeMessage] };`,
    },
    { packages: ["postal-mime", "mimetext"] },
  );
  await bundler.build();
  await cp(join(root, "src/index.ts"), join(root, "src/other.ts"));
  const times = [];
  for (let i = 0; i < 5; i++) {
    await write(root, { "src/index.ts": `${await readFile(join(root, "src/other.ts"), "utf8")}\n// ${i}` });
    times.push((await bundler.build()).ms);
  }
  t.diagnostic(`rebuild times: ${times.join(", ")} ms`);
  assert.ok(Math.min(...times) < 1000, `rebuilds took ${times} ms`);
  const versions = (await Promise.all([bundler.build(), bundler.build(), bundler.build()])).map(({ script }) =>
    Number.parseInt(script.version),
  );
  assert.deepEqual(versions, [7, 8, 9]);
  await bundler.close();
  await assert.rejects(bundler.build(), /closed/);
});

test("a service worker may have every binding, but imports platform modules only by import()", async (t) => {
  const listener = (body: string) => `addEventListener("email", async (event: any) => { ${body} });`;
  const config = { send_email: [{ name: "MAIL" }], d1_databases: [{ binding: "DB", database_id: "d" }] };
  const { root, bundler } = await project(
    t,
    { "src/index.ts": listener(`const { EmailMessage } = await import("cloudflare:email"); EmailMessage;`) },
    { config },
  );
  const build = await bundler.build();
  assert.equal(build.script.format, "service-worker");
  assert.deepEqual(build.script.bindings.map(({ name }) => name).sort(), ["DB", "MAIL"]);
  assert.match(codeOf(build), /import\("cloudflare:email"\)/);
  await write(root, {
    "src/index.ts": `import { EmailMessage } from "cloudflare:email";\n${listener("EmailMessage;")}`,
  });
  assert.match(
    await refusal(bundler),
    /src\/index\.ts:1:30: error: a worker in service-worker format cannot import "cloudflare:email" at the top level\n.*\n.*\n {2}fix: export a default object from the main module, or import it in a listener: const module = await import\("cloudflare:email"\)/,
  );
});

test("the build command creates the main module, and its failure is reported with its output", async (t) => {
  const { root, bundler } = await project(
    t,
    {
      "source.js": `export default { fetch: () => new Response("first") };`,
      "build.js": `require("node:fs").cpSync("source.js", process.env.WRANGLER_COMMAND + ".js");`,
    },
    { config: { main: "dev.js", build: { command: "node build.js", watch_dir: "." } } },
  );
  assert.match(codeOf(await bundler.build()), /first/);
  await writeFile(join(root, "source.js"), `export default { fetch: () => new Response("second") };`);
  assert.match(codeOf(await bundler.build({ skipCommand: true })), /first/);
  assert.match(codeOf(await bundler.build()), /second/);
  await writeFile(join(root, "build.js"), `console.error("no such template"); process.exit(3);`);
  assert.match(
    await refusal(bundler),
    /^The build command `node build\.js` exited with status 3\.\n\nno such template$/,
  );
  await rm(join(root, "dev.js"));
  await writeFile(join(root, "build.js"), "");
  assert.match(await refusal(bundler), /did not create .*dev\.js\.\n\n\(no output\)$/);
});

test("closing stops a running build command with all its processes", async (t) => {
  const { root, bundler } = await project(
    t,
    {
      // The socket shows whether the process is running; the process ends only if it is killed.
      "hang.js": `require("node:net").createServer().listen("running.sock");`,
      "dev.js": "export default {};",
    },
    { config: { main: "dev.js", build: { command: "node hang.js & wait" } } },
  );
  const appeared = Promise.withResolvers<void>();
  const watcher = watch(root, (_, name) => name === "running.sock" && appeared.resolve());
  t.after(() => watcher.close());
  const stopped = assert.rejects(bundler.build(), /was stopped/);
  await appeared.promise;
  await Promise.all([bundler.close(), stopped]);
  const refusedBy = connect(join(root, "running.sock"));
  await assert.rejects(once(refusedBy, "connect"), { code: "ECONNREFUSED" });
});
