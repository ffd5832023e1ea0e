import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

/** Prints each module of the SDK that is loaded. */
const HOOKS = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  registerHooks({ resolve(specifier, context, next) {
    if (specifier.includes("@aws-sdk/")) process.stdout.write("loads " + specifier + "\\n");
    return next(specifier, context);
  } });`)}`;

const SRC = join(import.meta.dirname, "../../..");

function loadedBy(...args: string[]): string {
  const { stdout, stderr, status } = spawnSync(process.execPath, ["--import", HOOKS, ...args], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return stdout;
}

const opening = (objects: string, folder: string) => `
  const { jobsMigrations, openStore } = await import(${JSON.stringify(join(SRC, "store/index.ts"))});
  const { createLifecycle, randomIds, silentLog, systemClock } = await import(${JSON.stringify(join(SRC, "kernel/index.ts"))});
  const lifecycle = createLifecycle({ log: silentLog });
  const basics = { clock: systemClock, ids: randomIds, log: silentLog, lifecycle };
  await openStore(${JSON.stringify(folder)}, { migrations: jobsMigrations, objects: ${objects} }, basics);
  await lifecycle.stop();`;

test("the S3 SDK is loaded only if objects are stored in a bucket", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-loading-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  assert.doesNotMatch(loadedBy(join(SRC, "cli/main.ts"), "--help"), /loads/);
  const evaluate = (objects: string) => loadedBy("--input-type=module", "--eval", opening(objects, folder));
  assert.doesNotMatch(evaluate(`{ dir: "objects", url: "" }`), /loads/);
  assert.match(
    evaluate(`{ dir: "objects", url: "s3://bucket?endpoint=http://127.0.0.1:9" }`),
    /loads @aws-sdk\/client-s3\n/,
  );
});
