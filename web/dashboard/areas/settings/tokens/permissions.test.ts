import assert from "node:assert/strict";
import { test } from "node:test";
import { areasOf, policiesOf } from "./permissions.ts";

const group = (id: string, name: string, scope: string, category = "media") => ({
  id,
  name,
  scopes: [scope],
  category,
});
const GROUPS = [
  group("1", "Stream Read", "com.cloudflare.api.account"),
  group("2", "Stream Write", "com.cloudflare.api.account"),
  group("3", "DNS Write", "com.cloudflare.api.account.zone", "dns_and_zones"),
  group("4", "User Details Read", "com.cloudflare.api.user", "account_and_billing"),
  group("5", "Workers R2 Storage Bucket Item Read", "com.cloudflare.edge.r2.bucket", "developer_platform"),
];

test("permission groups become areas, except groups of single buckets; groups of users are included only for user tokens", () => {
  const names = (kind: "user" | "account") => areasOf(GROUPS, kind).map(({ name }) => name);
  assert.deepEqual(names("user"), ["User Details", "DNS", "Stream"]);
  assert.deepEqual(names("account"), ["DNS", "Stream"]);
  const stream = areasOf(GROUPS, "account").at(-1)!;
  assert.deepEqual(Object.fromEntries(stream.groupIdsByLevel), { Read: "1", Write: "2" });
});

test("each kind of resource has a policy of its own, limited to the account and the user", () => {
  assert.deepEqual(policiesOf(new Set(["1", "3", "4"]), GROUPS, { account: "a", user: "u" }), [
    { effect: "allow", permission_groups: [{ id: "1" }], resources: { "com.cloudflare.api.account.a": "*" } },
    {
      effect: "allow",
      permission_groups: [{ id: "3" }],
      resources: { "com.cloudflare.api.account.a": { "com.cloudflare.api.account.zone.*": "*" } },
    },
    { effect: "allow", permission_groups: [{ id: "4" }], resources: { "com.cloudflare.api.user.u": "*" } },
  ]);
  assert.deepEqual(policiesOf(new Set(), GROUPS, { account: "a", user: "u" }), []);
});
