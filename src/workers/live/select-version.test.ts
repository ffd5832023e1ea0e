import assert from "node:assert/strict";
import { test } from "node:test";
import { overrideFor, selectVersion, type ScriptRoute } from "./select-version.ts";

const route = (...percentages: number[]): ScriptRoute => ({
  account: "a",
  scriptId: "s",
  revision: 0,
  versions: percentages.map((percentage, i) => ({ versionId: `v${percentages.length - i}`, percentage })),
});
const pick = (of: ScriptRoute, headers = {}, at = 0) => selectVersion("mail", of, headers, () => at);

test("percentages determine the version", () => {
  const three = route(10, 60, 30);
  assert.deepEqual(
    [0, 0.0999, 0.1, 0.6999, 0.7, 0.9999].map((at) => pick(three, {}, at)),
    ["v3", "v3", "v2", "v2", "v1", "v1"],
  );
  assert.equal(pick(route(0, 100), {}, 0), "v1");
  assert.equal(pick(route(33.33, 66.66), {}, 0.99999), "v1");
  assert.equal(pick(route(99.99, 0), {}, 0.99999), "v2");
});

test("a header selects a version of the deployment, even at 0 %, and any other value is ignored", () => {
  const two = route(0, 100);
  const named = (text: string) => pick(two, { "cloudflare-workers-version-overrides": text }, 0.5);
  assert.equal(named('mail="v2"'), "v2");
  assert.equal(named('other="v1", mail="v2"'), "v2");
  assert.equal(named('mail="v9"'), "v1");
  assert.equal(named("mail=v2"), "v1");
  assert.equal(named('mail="v2", ]'), "v1");
  assert.equal(named(""), "v1");
  assert.equal(overrideFor("mail", 'mail="a", mail="b"'), "b");
  assert.equal(overrideFor("mail", undefined), undefined);
});

test("a key always gets the same version, and can only move to the newer one", () => {
  const keys = Array.from({ length: 1000 }, (_, i) => ({ "cloudflare-workers-version-key": `user-${i}` }));
  const newer = (percentage: number) =>
    keys.map((headers) => pick(route(percentage, 100 - percentage), headers) === "v2");
  const [ten, again, fifty] = [newer(10), newer(10), newer(50)];
  assert.deepEqual(again, ten);
  const share = (list: boolean[]) => list.filter(Boolean).length;
  assert.ok(share(ten) > 60 && share(ten) < 150 && share(fifty) > 420 && share(fifty) < 580);
  assert.ok(ten.every((moved, i) => !moved || fifty[i]));
});
