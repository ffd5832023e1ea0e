import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

const SOURCES = pathToFileURL(join(import.meta.dirname, "..")).href;
/** Prints the URLs of all loaded modules on exit. */
const LISTER = `data:text/javascript,${encodeURIComponent(`
import { registerHooks } from "node:module";
import { writeSync } from "node:fs";
const urls = [];
registerHooks({
  load(url, context, next) {
    urls.push(url);
    return next(url, context);
  },
});
process.on("exit", () => writeSync(2, "modules: " + urls.join(" ")));
`)}`;

/** URLs of the modules that Node loads with these arguments. */
async function loadedModules(...args: string[]): Promise<string[]> {
  const { stderr } = await promisify(execFile)(process.execPath, ["--import", LISTER, ...args], { maxBuffer: 2 ** 24 });
  return /modules: (.*)$/.exec(stderr)![1]!.split(" ");
}

let ofServer: Promise<string[]> | undefined;
/** URLs of the modules that a server has loaded before its first request. */
const serverModules = () =>
  (ofServer ??= loadedModules("--eval", `import(${JSON.stringify(`${SOURCES}/server/serve.ts`)})`));

/** Resolves with the number of modules of this program that a command line loads. */
async function countModules(...args: string[]): Promise<number> {
  const urls = await loadedModules(join(import.meta.dirname, "main.ts"), ...args);
  return urls.filter((url) => url.startsWith(SOURCES)).length;
}

test("the general help loads no command modules", async () => {
  const count = await countModules("--help");
  assert.ok(count >= 10 && count < 60, `--help loads ${count} modules`);
});

test("the help of a command loads neither the server nor its domains", async () => {
  const count = await countModules("d1", "--help");
  assert.ok(count >= 10 && count < 80, `d1 --help loads ${count} modules`);
});

test("a server without telemetry does not load the OpenTelemetry SDK", async () => {
  const urls = await serverModules();
  assert.ok(urls.some((url) => url.endsWith("/src/kernel/telemetry/environment.ts")));
  assert.deepEqual(
    urls.filter((url) => /\/node_modules\/@opentelemetry\/(?!api\/)/.test(url)),
    [],
  );
});

test("a server starts without the library that authenticates messages", async () => {
  const urls = await serverModules();
  assert.ok(urls.some((url) => url.endsWith("/src/mail/authenticate/spf.ts")));
  assert.deepEqual(
    urls.filter((url) => url.includes("/node_modules/mailauth/")),
    [],
  );
});

test("a server starts without the operations of the API, and without the bundler and the encryption of backups", async () => {
  const urls = await serverModules();
  assert.ok(urls.some((url) => url.endsWith("/src/api/platform-api.ts")));
  assert.deepEqual(
    urls.filter((url) =>
      /\/src\/api\/(app|platform-app|local-api)\.ts|\/node_modules\/(esbuild|age-encryption)\//.test(url),
    ),
    [],
  );
});
