import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../support/serve.ts";

const deploy = join(import.meta.dirname, "..", "..", "deploy");
const unit = join(deploy, "reelpost.service");
const dropIn = join(deploy, "reelpost-account-users.conf");

const missing = spawnSync("systemd-analyze", ["--version"]).status !== 0;
const skip = missing && process.env["REQUIRE_ALL"] !== "1" && "systemd-analyze is not installed";

/**
 * Returns the exposure level that `systemd-analyze security` reports for a unit file, from 0 (confined) to 10
 * (exposed).
 */
function exposure(file: string): number {
  const { stdout, stderr } = spawnSync("systemd-analyze", ["security", "--offline=true", "--no-pager", file], {
    encoding: "utf8",
    env: { ...process.env, LC_ALL: "C.UTF-8" },
  });
  const [, score] = /Overall exposure level for \S+: ([\d.]+)/.exec(stdout) ?? [];
  assert.ok(score !== undefined, `systemd-analyze printed no score: ${stdout}${stderr}`);
  return Number(score);
}

test("the service unit scores below 2.5 in systemd-analyze security", { skip }, () => {
  assert.ok(exposure(unit) < 2.5, `exposure ${exposure(unit)}`);
});

test("the service unit runs as a non-root user without capabilities", () => {
  const values = (name: string) =>
    [...readFileSync(unit, "utf8").matchAll(new RegExp(`^${name}=(.*)$`, "gm"))].map(([, value]) => value);
  assert.deepEqual(
    [values("User"), values("CapabilityBoundingSet"), values("AmbientCapabilities")],
    [["reelpost"], [""], [""]],
  );
});

test("the drop-in for one user per account scores below 3", { skip }, async (t) => {
  const both = join(await temporaryFolder(t, "unit"), "reelpost.service");
  // A repeated section extends the earlier section of the same name, as a drop-in does.
  writeFileSync(both, readFileSync(unit, "utf8") + readFileSync(dropIn, "utf8"));
  const score = exposure(both);
  assert.ok(score < 3 && score > exposure(unit), `exposure ${score}`);
});

test("systemd recognizes every directive in the units", { skip }, () => {
  const units = [
    "reelpost.service",
    "reelpost.socket",
    "reelpost-smtp.socket",
    "reelpost-submission.socket",
    "reelpost-https.socket",
  ].map((name) => join(deploy, name));
  const { stdout, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", ...units], { encoding: "utf8" });
  // The program is not installed on test machines.
  assert.deepEqual(
    `${stdout}${stderr}`
      .split("\n")
      .filter((line) => line.startsWith(deploy) || /unknown|invalid|failed to parse/i.test(line)),
    [],
  );
});
