/**
 * Reports whether the pinned workerd is older than the newest version in the registry that npm is configured to use.
 * Exits with 1 if it is older, and with 2 if npm fails to return the newest version.
 *
 *     node scripts/check-workerd.ts
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describeAge } from "./workerd-age.ts";

const ROOT = join(import.meta.dirname, "..");
const TIMEOUT_MS = 60_000;

const { dependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  dependencies: { workerd: string };
};
const view = spawnSync("npm", ["view", "workerd", "version"], { cwd: ROOT, encoding: "utf8", timeout: TIMEOUT_MS });
const newestVersion = view.stdout?.trim() ?? "";
if (view.status !== 0 || newestVersion === "") {
  process.stderr.write(`npm view failed: ${view.error?.message ?? view.stderr.trim()}\n`);
  process.exitCode = 2;
} else {
  const { isOlder, text } = describeAge(dependencies.workerd, newestVersion);
  process.stdout.write(`${text}\n`);
  if (isOlder) process.exitCode = 1;
}
