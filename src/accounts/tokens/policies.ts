import type { Ids } from "../../kernel/index.ts";
import { accountErrors } from "../errors.ts";
import { permissionGroup, SCOPE_NAMES } from "./permission-groups.ts";
import { readPolicyResources, scopeOf } from "./policy-resources.ts";
import type { Policy, TokenOwner, TokenRequest } from "./types.ts";

const MAX_POLICIES = 32;
/**
 * Maximum number of permission groups times resources across all policies of a token: limits the cost of checking it.
 */
const MAX_GRANTS = 2048;

/** Throws badToken with the name of the field. Policies with a known id keep it; others get a new one. */
export function checkPolicies(
  requested: TokenRequest["policies"],
  { owner, ids, known = [] }: { owner: TokenOwner; ids: Ids; known?: readonly Policy[] },
): Policy[] {
  const refuse = (field: string, reason: string) =>
    accountErrors.badToken({
      field,
      reason,
      chain: [{ code: 1001, message: reason, source: { pointer: `/${field.replaceAll(".", "/")}` } }],
    });
  if (requested.length === 0) throw refuse("policies", "a token needs at least one policy");
  if (requested.length > MAX_POLICIES) throw refuse("policies", `at most ${MAX_POLICIES} policies`);
  if (requested.every(({ effect }) => effect === "deny"))
    throw refuse("policies", "a token needs at least one policy that allows something");
  const oldIds = new Set(known.map(({ id }) => id));
  let grants = 0;
  return requested.map(({ id, effect, groups, resources }, index) => {
    const policyPath = `policies.${index}`;
    const fail = (field: string, reason: string) => refuse(`${policyPath}.${field}`, reason);
    const places = readPolicyResources(resources, owner, (key, reason) =>
      fail("resources", `${JSON.stringify(key)}: ${reason}`),
    );
    if (places.length === 0) throw fail("resources", "a policy needs at least one resource");
    if (groups.length === 0) throw fail("permission_groups", "a policy needs at least one permission group");
    grants += groups.length * places.length;
    if (grants > MAX_GRANTS)
      throw refuse("policies", `at most ${MAX_GRANTS} combinations of permission groups and resources`);
    const scopes = new Set(places.map(scopeOf));
    for (const [number, groupId] of groups.entries()) {
      const group = permissionGroup(groupId);
      if (group === undefined)
        throw fail(
          `permission_groups.${number}.id`,
          `there is no permission group ${JSON.stringify(groupId)}; see the list of permission groups`,
        );
      // Such a combination would silently allow nothing.
      if (!scopes.has(group.scope))
        throw fail(
          "resources",
          `${group.name} needs a resource ${SCOPE_NAMES[group.scope]}.<id>${group.scope === "zone" ? ", or an account with zones nested in it" : ""}`,
        );
    }
    const policyId = id !== undefined && oldIds.delete(id) ? id : ids.hex();
    return { id: policyId, effect, groups: [...new Set(groups)], resources };
  });
}
