import assert from "node:assert/strict";
import { test } from "node:test";
import { describeAge } from "../../scripts/workerd-age.ts";

test("an older workerd is reported with its age in days", () => {
  assert.deepEqual(describeAge("1.20261117.1", "1.20261201.2"), {
    older: true,
    text: "workerd 1.20261117.1 is 14 days older than the newest version, 1.20261201.2. Update it in package.json",
  });
  assert.equal(describeAge("1.20261117.1", "1.20261117.2").older, true);
  assert.equal(describeAge("1.20261117.9", "1.20261117.10").older, true);
});

test("the same or a newer workerd is the newest", () => {
  assert.deepEqual(describeAge("1.20261117.1", "1.20261117.1"), {
    older: false,
    text: "workerd 1.20261117.1 is the newest version",
  });
  assert.equal(describeAge("1.20270101.0", "1.20261231.5").older, false);
});

test("a range is not a version", () => {
  assert.throws(() => describeAge("^1.20261117.1", "1.20261117.1"), /not a version of workerd: "\^1\.20261117\.1"/);
});
