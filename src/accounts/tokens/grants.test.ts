import assert from "node:assert/strict";
import { test } from "node:test";
import { array, assert as check, constantFrom, property, record, type Arbitrary } from "fast-check";
import type { Permission, Resource } from "../caller.ts";
import { compileGrants, findExceedingGrant, type Grant, grantsOf } from "./grants.ts";
import { permissionGroups } from "./permission-groups.ts";
import type { PolicyResource } from "./policy-resources.ts";
import type { Policy, TokenOwner } from "./types.ts";

// Few distinct ids, so that allows, denies and queries overlap.
const hex = (digit: string) => digit.repeat(32);
const accounts = [hex("a"), hex("b")];
const zones = [hex("1"), hex("2"), hex("3")];
const home: Record<string, string> = {
  [zones[0]!]: accounts[0]!,
  [zones[1]!]: accounts[0]!,
  [zones[2]!]: accounts[1]!,
};
const user = hex("c");
const names: Permission[] = [
  "DNS Read",
  "DNS Write",
  "Stream Read",
  "Stream Write",
  "User Details Read",
  "User Details Write",
];
const idOf = (name: Permission) => permissionGroups.find((group) => group.name === name)!.id;
const A = "com.cloudflare.api.account";

const resource: Arbitrary<[string, string | Record<string, string>]> = constantFrom<
  [string, string | Record<string, string>][]
>(
  [`${A}.*`, "*"],
  [`${A}.${accounts[0]}`, "*"],
  [`${A}.${accounts[1]}`, "*"],
  [`${A}.zone.*`, "*"],
  [`${A}.zone.${zones[0]}`, "*"],
  [`${A}.zone.${zones[2]}`, "*"],
  [`${A}.${accounts[0]}`, { [`${A}.zone.*`]: "*" }],
  [`${A}.${accounts[1]}`, { [`${A}.zone.${zones[2]}`]: "*" }],
  [`${A}.${accounts[1]}`, { [`${A}.zone.${zones[0]}`]: "*" }],
  [`${A}.*`, { [`${A}.zone.*`]: "*" }],
  [`com.cloudflare.api.user.${user}`, "*"],
);

const policy: Arbitrary<Policy> = record({
  id: constantFrom("p"),
  effect: constantFrom<("allow" | "deny")[]>("allow", "allow", "deny"),
  groups: array(constantFrom(...names.map(idOf)), { minLength: 1, maxLength: 3 }),
  resources: array(resource, { minLength: 1, maxLength: 3 }).map((entries) => Object.fromEntries(entries)),
});

const questions: Resource[] = [
  { user: true },
  ...accounts.map((account) => ({ account })),
  ...zones.map((zone) => ({ zone, account: home[zone]! })),
  ...accounts.map((account) => ({ account, bucket: "films", jurisdiction: "default" })),
];

/** Reference implementation: checks every policy, group and resource for each query. */
function naive(policies: Policy[], reachable: Set<string>, permission: Permission, on: Resource): boolean {
  if ("account" in on && !reachable.has(on.account)) return false;
  const [, area, word] = /^(.*) (Read|Write)$/.exec(permission)!;
  const says = (effect: "allow" | "deny") =>
    policies.some(
      (each) =>
        each.effect === effect &&
        each.groups.some((id) => {
          const group = permissionGroups.find((candidate) => candidate.id === id)!;
          const included =
            group.name === permission ||
            (effect === "allow"
              ? word === "Read" && group.name === `${area} Write`
              : word === "Write" && group.name === `${area} Read`);
          return (
            included && Object.entries(each.resources).some(([name, value]) => meant(group.scope, name, value, on))
          );
        }),
    );
  return !says("deny") && says("allow");
}

function meant(scope: string, name: string, value: string | Record<string, string>, on: Resource): boolean {
  if (typeof value === "object") {
    const account = name.slice(A.length + 1);
    if (scope !== "zone" || !("account" in on) || (account !== "*" && account !== on.account)) return false;
    return Object.keys(value).some(
      (inner) => inner.endsWith(".zone.*") || ("zone" in on && inner.endsWith(`.${on.zone}`)),
    );
  }
  if (name.startsWith("com.cloudflare.api.user.")) return scope === "user" && "user" in on;
  if (name.startsWith(`${A}.zone.`))
    return scope === "zone" && "account" in on && (name.endsWith("*") || ("zone" in on && name.endsWith(on.zone)));
  return scope === "account" && "account" in on && (name.endsWith("*") || name.endsWith(on.account));
}

const owner: TokenOwner = { user };

test("a compiled token allows exactly what evaluating its policies allows", () => {
  check(
    property(
      array(policy, { maxLength: 4 }),
      array(constantFrom(...accounts), { maxLength: 2 }),
      (policies, reached) => {
        const allows = compileGrants(grantsOf(policies, owner), new Set(reached));
        for (const permission of names)
          for (const on of questions)
            assert.equal(
              allows(permission, on),
              naive(policies, new Set(reached), permission, on),
              `${permission} ${JSON.stringify(on)}`,
            );
      },
    ),
    { numRuns: 500 },
  );
});

test("a token that does not exceed another allows nothing that the other denies", () => {
  let passed = 0;
  check(
    property(array(policy, { maxLength: 3 }), array(policy, { maxLength: 3 }), (wanted, held) => {
      const [more, own] = [grantsOf(wanted, owner), grantsOf(held, owner)];
      if (findExceedingGrant(more, own) !== undefined) return;
      const [wants, has] = [compileGrants(more, new Set(accounts)), compileGrants(own, new Set(accounts))];
      for (const permission of names)
        for (const on of questions) {
          if (!wants(permission, on)) continue;
          passed++;
          assert.ok(has(permission, on), `${permission} ${JSON.stringify(on)}`);
        }
    }),
    { numRuns: 3000 },
  );
  assert.ok(passed > 100, `only ${passed} permissions were compared`);
});

test("an equal or narrower token never exceeds another", () => {
  check(
    property(array(policy, { maxLength: 4 }), (policies) => {
      const grants = grantsOf(policies, owner);
      assert.equal(findExceedingGrant(grants, grants), undefined);
      const allowed = grants.filter(({ effect }) => effect === "allow");
      if (allowed.length === grants.length) assert.equal(findExceedingGrant(allowed.slice(1), grants), undefined);
    }),
  );
});

test("reports the permission that the other token lacks", () => {
  const grant = (permission: Permission, resource: PolicyResource, effect: Grant["effect"] = "allow"): Grant => ({
    effect,
    permission,
    resource,
  });
  const one = { kind: "account", account: accounts[0]! } as const;
  assert.deepEqual(
    findExceedingGrant([grant("Stream Read", { kind: "every account" })], [grant("Stream Read", one)]),
    grant("Stream Read", { kind: "every account" }),
  );
  assert.deepEqual(
    findExceedingGrant([grant("Stream Read", one)], [grant("Stream Read", one), grant("Stream Read", one, "deny")]),
    grant("Stream Read", one),
  );
  assert.equal(
    findExceedingGrant(
      [grant("Stream Read", one), grant("Stream Read", one, "deny")],
      [grant("Stream Read", one), grant("Stream Read", one, "deny")],
    ),
    undefined,
  );
});

test("an account token applies to its own account regardless of the resources in its policies", () => {
  const policies: Policy[] = [
    {
      id: "p",
      effect: "allow",
      groups: [idOf("Stream Read"), idOf("DNS Read")],
      resources: { [`${A}.*`]: "*", [`${A}.zone.*`]: "*" },
    },
  ];
  const grants = grantsOf(policies, { account: accounts[0]! });
  assert.deepEqual(
    grants.map(({ resource }) => resource),
    [
      { kind: "account", account: accounts[0] },
      { kind: "zones of", account: accounts[0] },
    ],
  );
});

test("access to objects can be granted for one bucket or for all buckets of an account", () => {
  const account = accounts[0]!;
  const [readItem, writeItem, writeAll] = [
    "Workers R2 Storage Bucket Item Read",
    "Workers R2 Storage Bucket Item Write",
    "Workers R2 Storage Write",
  ] as const;
  const films = { account, bucket: "films", jurisdiction: "default" };
  const otherResources: Resource[] = [
    { ...films, bucket: "film" },
    { ...films, jurisdiction: "eu" },
    { ...films, account: accounts[1]! },
    { account },
  ];
  const grants = (effect: Policy["effect"], group: Permission, resource: string) =>
    grantsOf([{ id: "p", effect, groups: [idOf(group)], resources: { [resource]: "*" } }], owner);
  const bucket = `com.cloudflare.edge.r2.bucket.${account}_default_films`;
  const reachable = new Set(accounts);
  const bucketGrants = grants("allow", writeItem, bucket);
  const allows = compileGrants(bucketGrants, reachable);
  assert.ok(allows(writeItem, films) && allows(readItem, films));
  for (const on of otherResources) assert.ok(!allows(readItem, on), JSON.stringify(on));
  assert.ok(!allows("Workers R2 Storage Read", films) && !allows("Workers R2 Storage Read", { account }));

  const accountGrants = grants("allow", writeAll, `${A}.${account}`);
  assert.ok(compileGrants(accountGrants, reachable)(writeItem, films));
  assert.ok(
    !compileGrants([...accountGrants, ...grants("deny", "Workers R2 Storage Read", `${A}.${account}`)], reachable)(
      readItem,
      films,
    ),
  );
  assert.ok(!compileGrants([...accountGrants, ...grants("deny", readItem, bucket)], reachable)(readItem, films));
  assert.equal(findExceedingGrant(bucketGrants, accountGrants), undefined);
  assert.equal(findExceedingGrant(bucketGrants, grants("allow", writeAll, `${A}.*`)), undefined);
  assert.ok(findExceedingGrant(accountGrants, bucketGrants));
  assert.ok(findExceedingGrant(bucketGrants, [...accountGrants, ...grants("deny", readItem, bucket)]));
  assert.ok(findExceedingGrant(bucketGrants, grants("allow", writeItem, bucket.replace("films", "film"))));
});
