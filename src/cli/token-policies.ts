export interface ApiPermissionGroup {
  id: string;
  name: string;
  scopes: string[];
}

interface Policy {
  effect: "allow";
  resources: Record<string, string | Record<string, string>>;
  permission_groups: { id: string }[];
}

const ACCOUNT = "com.cloudflare.api.account";
const ZONE = "com.cloudflare.api.account.zone";
const USER = "com.cloudflare.api.user";

/** Permissions apply to one resource type: each type gets a policy for all of its resources in the account. */
export async function policiesFor(
  groups: readonly ApiPermissionGroup[],
  { account, user }: { account: string; user: () => Promise<string> },
): Promise<Policy[]> {
  const of = (scope: string) => groups.filter(({ scopes }) => scopes.includes(scope)).map(({ id }) => ({ id }));
  const accountGroups = of(ACCOUNT);
  const zoneGroups = of(ZONE);
  const userGroups = of(USER);
  return [
    ...(accountGroups.length === 0 ? [] : [allow(accountGroups, { [`${ACCOUNT}.${account}`]: "*" })]),
    ...(zoneGroups.length === 0 ? [] : [allow(zoneGroups, { [`${ACCOUNT}.${account}`]: { [`${ZONE}.*`]: "*" } })]),
    ...(userGroups.length === 0 ? [] : [allow(userGroups, { [`${USER}.${await user()}`]: "*" })]),
  ];
}

const allow = (groups: Policy["permission_groups"], resources: Policy["resources"]): Policy => ({
  effect: "allow",
  resources,
  permission_groups: groups,
});
