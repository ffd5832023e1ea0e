import assert from "node:assert/strict";
import { test } from "node:test";
import { describeAge } from "../../scripts/workerd-age.ts";

test("reports the age of an older version in days", () => {
  assert.deepEqual(describeAge("1.20261117.1", "1.20261201.2"), {
    isOlder: true,
    text: "workerd 1.20261117.1 is 14 days older than the newest version, 1.20261201.2. Update it in package.json",
  });
  assert.equal(describeAge("1.20261117.1", "1.20261117.2").isOlder, true);
  assert.equal(describeAge("1.20261117.9", "1.20261117.10").isOlder, true);
});

test("reports that an equal or newer version is the newest", () => {
  assert.deepEqual(describeAge("1.20261117.1", "1.20261117.1"), {
    isOlder: false,
    text: "workerd 1.20261117.1 is the newest version",
  });
  assert.equal(describeAge("1.20270101.0", "1.20261231.5").isOlder, false);
});

test("rejects a version range", () => {
  assert.throws(() => describeAge("^1.20261117.1", "1.20261117.1"), /not a workerd version: "\^1\.20261117\.1"/);
});
