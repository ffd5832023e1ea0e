import type { PermissionGroup } from "../queries.ts";
import type { TokenRequest } from "./token-api.ts";

/** The permissions for one kind of resource: `DNS` with Read and Write. */
export interface Area {
  name: string;
  category: string;
  /** Group IDs by access level: Read, Write, Run. */
  groupIdsByLevel: ReadonlyMap<string, string>;
}

const SCOPES = {
  account: "com.cloudflare.api.account",
  zone: "com.cloudflare.api.account.zone",
  user: "com.cloudflare.api.user",
};

const CATEGORIES: Record<string, string> = {
  account_and_billing: "Account",
  analytics_and_logs: "Analytics",
  developer_platform: "Workers and storage",
  dns_and_zones: "DNS and zones",
  email_and_messaging: "Mail",
  media: "Stream",
};

/**
 * Returns the areas of the permission groups that the picker offers. Groups for a single bucket need a resource of
 * their own, and account tokens have no user.
 */
export function areasOf(groups: readonly PermissionGroup[], kind: "user" | "account"): Area[] {
  const offered = Object.values(SCOPES).filter((scope) => kind === "user" || scope !== SCOPES.user);
  const areas = new Map<string, { name: string; category: string; groupIdsByLevel: Map<string, string> }>();
  for (const { id, name, category, scopes } of groups) {
    if (!scopes.some((scope) => offered.includes(scope))) continue;
    const [, area, level] = /^(.*) (\w+)$/.exec(name) ?? [undefined, name, "Read"];
    const known = areas.get(area!) ?? {
      name: area!,
      category: CATEGORIES[category] ?? category,
      groupIdsByLevel: new Map(),
    };
    known.groupIdsByLevel.set(level!, id);
    areas.set(area!, known);
  }
  return [...areas.values()].sort((a, b) => a.category.localeCompare(b.category) || a.name.localeCompare(b.name));
}

/** Returns one policy for each kind of resource; the one for zones covers all zones of the account. */
export function policiesOf(
  selected: ReadonlySet<string>,
  groups: readonly PermissionGroup[],
  { account, user }: { account: string; user: string },
): TokenRequest["policies"] {
  const resources: [scope: string, resources: Record<string, unknown>][] = [
    [SCOPES.account, { [`${SCOPES.account}.${account}`]: "*" }],
    [SCOPES.zone, { [`${SCOPES.account}.${account}`]: { [`${SCOPES.zone}.*`]: "*" } }],
    [SCOPES.user, { [`${SCOPES.user}.${user}`]: "*" }],
  ];
  return resources.flatMap(([scope, places]) => {
    const ids = groups.filter(({ id, scopes }) => selected.has(id) && scopes.includes(scope)).map(({ id }) => ({ id }));
    return ids.length === 0 ? [] : [{ effect: "allow" as const, permission_groups: ids, resources: places }];
  });
}
