import assert from "node:assert/strict";
import { test } from "node:test";
import { conditionsHold } from "./conditions.ts";
import type { Conditions, Etag } from "./object.ts";

const uploaded = Date.UTC(2026, 1, 24, 0, 9, 0, 500);
const current = { etag: "e1", uploaded };
const at = (ms: number) => new Date(uploaded + ms);
const strong = (value: string): Etag[] => [{ type: "strong", value }];
const weak = (value: string): Etag[] => [{ type: "weak", value }];
const any: Etag[] = [{ type: "wildcard" }];

const cases: [conditions: Conditions, whenThere: boolean, whenAbsent: boolean][] = [
  [{}, true, true],
  [{ etagMatches: strong("e1") }, true, false],
  [{ etagMatches: strong("other") }, false, false],
  [{ etagMatches: [...strong("other"), ...strong("e1")] }, true, false],
  [{ etagMatches: weak("e1") }, false, false],
  [{ etagMatches: any }, true, false],
  [{ etagMatches: [] }, false, false],
  [{ etagDoesNotMatch: strong("e1") }, false, true],
  [{ etagDoesNotMatch: weak("e1") }, false, true],
  [{ etagDoesNotMatch: strong("other") }, true, true],
  [{ etagDoesNotMatch: any }, false, true],
  [{ uploadedBefore: at(1) }, true, true],
  [{ uploadedBefore: at(0) }, false, true],
  [{ uploadedAfter: at(-1) }, true, false],
  [{ uploadedAfter: at(0) }, false, false],
  // Times half a second apart are in the same second.
  [{ uploadedBefore: at(250), secondsGranularity: true }, false, true],
  [{ uploadedAfter: at(-250), secondsGranularity: true }, false, false],
  [{ uploadedAfter: at(-501), secondsGranularity: true }, true, false],
  // A passed etag condition overrides only the time condition of its pair.
  [{ etagMatches: strong("e1"), uploadedBefore: at(-1000) }, true, false],
  [{ etagMatches: strong("e1"), uploadedAfter: at(1000) }, false, false],
  [{ etagDoesNotMatch: strong("other"), uploadedAfter: at(1000) }, true, false],
  [{ etagDoesNotMatch: strong("other"), uploadedBefore: at(-1000) }, false, true],
  [{ etagMatches: strong("e1"), etagDoesNotMatch: strong("e1") }, false, false],
  [
    {
      etagMatches: strong("e1"),
      uploadedBefore: at(-1000),
      etagDoesNotMatch: strong("other"),
      uploadedAfter: at(1000),
    },
    true,
    false,
  ],
];

test("conditions combine as in RFC 9110", () => {
  for (const [conditions, whenThere, whenAbsent] of cases) {
    assert.equal(conditionsHold(conditions, current), whenThere, `present: ${JSON.stringify(conditions)}`);
    assert.equal(conditionsHold(conditions, undefined), whenAbsent, `absent: ${JSON.stringify(conditions)}`);
  }
});
