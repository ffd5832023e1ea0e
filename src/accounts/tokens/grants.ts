import { Fault } from "../../kernel/index.ts";
import type { Permission, Resource } from "../caller.ts";
import { permissionGroup } from "./permission-groups.ts";
import {
  bucketKey,
  containsResource,
  mayOverlap,
  readPolicyResources,
  scopeOf,
  type PolicyResource,
} from "./policy-resources.ts";
import type { Policy, TokenOwner } from "./types.ts";

/** A permission on a resource, allowed or denied. */
export interface Grant {
  effect: "allow" | "deny";
  permission: Permission;
  resource: PolicyResource;
}

/**
 * Flattens policies into grants. Allowing Write also allows Read; denying Read also denies Write, which includes it. A
 * group and a resource of different scopes do not combine.
 */
export function grantsOf(policies: readonly Policy[], owner: TokenOwner): Grant[] {
  return policies.flatMap(({ effect, groups, resources }) => {
    const parsed = readPolicyResources(
      resources,
      owner,
      (key, reason) => new Fault(`cannot parse the stored policy ${key}: ${reason}`),
    );
    return groups.flatMap((id) => {
      const group = permissionGroup(id);
      // A group from a different version of this program: no operation requires it.
      if (group === undefined) return [];
      const implied = permissionsImpliedBy(group.name, effect);
      return parsed
        .filter((resource) => scopeOf(resource) === group.scope)
        .flatMap((resource) => implied.map((permission) => ({ effect, permission, resource })));
    });
  });
}

function permissionsImpliedBy(permission: Permission, effect: Grant["effect"]): Permission[] {
  const permissions = impliedPermissions(permission, effect);
  // Access to all buckets of an account includes the objects of each bucket.
  const itemPermissions = permissions.flatMap((each): Permission[] =>
    hasItemPermission(each) ? [R2_ITEM_PERMISSIONS[each]] : [],
  );
  return [...permissions, ...itemPermissions];
}

const R2_ITEM_PERMISSIONS = {
  "Workers R2 Storage Read": "Workers R2 Storage Bucket Item Read",
  "Workers R2 Storage Write": "Workers R2 Storage Bucket Item Write",
} as const satisfies Partial<Record<Permission, Permission>>;
const hasItemPermission = (permission: Permission): permission is keyof typeof R2_ITEM_PERMISSIONS =>
  Object.hasOwn(R2_ITEM_PERMISSIONS, permission);

function impliedPermissions(permission: Permission, effect: Grant["effect"]): Permission[] {
  const [, area, word] = /^(.*) (Read|Write|Run)$/.exec(permission)!;
  if (effect === "allow" && word === "Write") return [permission, `${area} Read` as Permission];
  if (effect === "deny" && word === "Read") return [permission, `${area} Write` as Permission];
  return [permission];
}

/**
 * Returns a function that checks whether a permission is allowed, using precomputed sets. `reachable`: the accounts of
 * the token's owner.
 */
export function compileGrants(
  grants: readonly Grant[],
  reachable: ReadonlySet<string>,
): (permission: Permission, target: Resource) => boolean {
  const rules = new Map<Permission, { allow: Reach; deny: Reach | undefined }>();
  for (const { effect, permission, resource } of grants) {
    let rule = rules.get(permission);
    if (rule === undefined) rules.set(permission, (rule = { allow: createReach(), deny: undefined }));
    add(effect === "allow" ? rule.allow : (rule.deny ??= createReach()), resource);
  }
  return (permission, target) => {
    const rule = rules.get(permission);
    if (rule === undefined || ("account" in target && !reachable.has(target.account))) return false;
    return (rule.deny === undefined || !covers(rule.deny, target)) && covers(rule.allow, target);
  };
}

interface Reach {
  user: boolean;
  everyAccount: boolean;
  accounts: Set<string>;
  everyZone: boolean;
  allZonesOf: Set<string>;
  zones: Set<string>;
  zonesInAccount: Set<string>;
  buckets: Set<string>;
}

const createReach = (): Reach => ({
  user: false,
  everyAccount: false,
  accounts: new Set(),
  everyZone: false,
  allZonesOf: new Set(),
  zones: new Set(),
  zonesInAccount: new Set(),
  buckets: new Set(),
});

function add(reach: Reach, place: PolicyResource): void {
  switch (place.kind) {
    case "user":
      return void (reach.user = true);
    case "every account":
      return void (reach.everyAccount = true);
    case "account":
      return void reach.accounts.add(place.account);
    case "every zone":
      return void (reach.everyZone = true);
    case "zones of":
      return void reach.allZonesOf.add(place.account);
    case "zone":
      return void reach.zones.add(place.zone);
    case "zone in":
      return void reach.zonesInAccount.add(`${place.account}/${place.zone}`);
    case "bucket":
      return void reach.buckets.add(bucketKey(place));
  }
}

/**
 * An account permission checked for a zone applies to the zone's account. A zone permission checked for an account
 * requires it for all zones of the account: no zone exists yet when one is created.
 */
function covers(reach: Reach, target: Resource): boolean {
  if ("user" in target) return reach.user;
  if (
    reach.everyAccount ||
    reach.everyZone ||
    reach.accounts.has(target.account) ||
    reach.allZonesOf.has(target.account)
  )
    return true;
  if ("bucket" in target) return reach.buckets.has(bucketKey(target));
  return (
    "zone" in target &&
    (reach.zones.has(target.zone) ||
      (reach.zonesInAccount.size > 0 && reach.zonesInAccount.has(`${target.account}/${target.zone}`)))
  );
}

/**
 * Returns the first grant of `wanted` that `held` does not cover; undefined if `held` covers all of them. If the result
 * depends on the account of a zone, the grant counts as not covered.
 */
export function findExceedingGrant(wanted: readonly Grant[], held: readonly Grant[]): Grant | undefined {
  const heldBy = Map.groupBy(held, ({ permission }) => permission);
  const wantedBy = Map.groupBy(wanted, ({ permission }) => permission);
  for (const [permission, grants] of wantedBy) {
    const heldGrants = heldBy.get(permission) ?? [];
    const denies = heldGrants.filter(
      ({ effect, resource }) =>
        effect === "deny" &&
        !grants.some((grant) => grant.effect === "deny" && containsResource(grant.resource, resource)),
    );
    const allows = heldGrants.filter(({ effect }) => effect === "allow");
    const exceedingGrant = grants.find(
      ({ effect, resource }) =>
        effect === "allow" &&
        (!allows.some((allow) => containsResource(allow.resource, resource)) ||
          denies.some((deny) => mayOverlap(deny.resource, resource))),
    );
    if (exceedingGrant !== undefined) return exceedingGrant;
  }
  return undefined;
}
