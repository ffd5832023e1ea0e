import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

const SOURCES = pathToFileURL(join(import.meta.dirname, "..")).href;
/** Prints the number of loaded modules of this program on exit. */
const COUNTER = `data:text/javascript,${encodeURIComponent(`
import { registerHooks } from "node:module";
let count = 0;
registerHooks({
  load(url, context, next) {
    if (url.startsWith(${JSON.stringify(SOURCES)})) count++;
    return next(url, context);
  },
});
process.on("exit", () => process.stderr.write("modules: " + count));
`)}`;

/** Modules of this program that a command line loads. */
async function loadedModules(...args: string[]): Promise<number> {
  const main = join(import.meta.dirname, "main.ts");
  const { stderr } = await promisify(execFile)(process.execPath, ["--import", COUNTER, main, ...args]);
  return Number(/modules: (\d+)$/.exec(stderr)![1]);
}

test("the general help loads no command modules", async () => {
  const count = await loadedModules("--help");
  assert.ok(count >= 10 && count < 60, `--help loads ${count} modules`);
});

test("the help of a command loads neither the server nor its domains", async () => {
  const count = await loadedModules("d1", "--help");
  assert.ok(count >= 10 && count < 80, `d1 --help loads ${count} modules`);
});
