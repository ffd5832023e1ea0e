import { createHash } from "node:crypto";
import type { Permission, PermissionArea } from "../caller.ts";

/** The kind of resource that a permission applies to. */
export type Scope = "account" | "zone" | "user" | "bucket";

export interface PermissionGroup {
  /**
   * 32 hex digits. Equal to the ids of the hosted service, so that constants and Terraform files written for it work.
   */
  id: string;
  name: Permission;
  scope: Scope;
  category: Category;
}

type Category =
  | "account_and_billing"
  | "developer_platform"
  | "dns_and_zones"
  | "email_and_messaging"
  | "analytics_and_logs"
  | "media";

/** The name of each scope in resources and in lists of groups. */
export const SCOPE_NAMES: Record<Scope, string> = {
  account: "com.cloudflare.api.account",
  zone: "com.cloudflare.api.account.zone",
  user: "com.cloudflare.api.user",
  bucket: "com.cloudflare.edge.r2.bucket",
};

// Area, scope, category, id of Read, id of Write. For groups that the hosted service lacks, the id is derived from the
// name.
const table: [PermissionArea, Scope, Category, read?: string, write?: string][] = [
  [
    "Account Settings",
    "account",
    "account_and_billing",
    "c1fde68c7bcc44588cbb6ddbc16d6480",
    "1af1fa2adc104452b74a9a3364202f20",
  ],
  [
    "Account API Tokens",
    "account",
    "account_and_billing",
    "eb56a6953c034b9d97dd838155666f06",
    "5bc3f8b21c554832afc660159ab75fa4",
  ],
  ["API Tokens", "user", "account_and_billing", "0cc3a61731504c89b99ec1be78b77aa0", "686d18d5ac6c441c867cbf6771e58a0a"],
  [
    "User Details",
    "user",
    "account_and_billing",
    "8acbe5bb0d54464ab867149d7f7cf8ac",
    "55a5e17cc99e4a3fa1f3432d262f2e55",
  ],
  [
    "Memberships",
    "user",
    "account_and_billing",
    "3518d0f75557482e952c6762d3e64903",
    "9201bc6f42d440968aaab0c6f17ebb1d",
  ],
  ["Zone", "zone", "dns_and_zones", "c8fed203ed3043cba015a93ad1616f1f", "e6d2666161e84845a636613608cee8d5"],
  ["DNS", "zone", "dns_and_zones", "82e64a83756745bbbb1c9c2701bf816b", "4755a26eedb94da69e1066d98aa820be"],
  ["Zone Settings", "zone", "dns_and_zones", "517b21aee92c4d89936c976ba6e4be55", "3030687196b94b638145a3953da2b699"],
  [
    "Workers Scripts",
    "account",
    "developer_platform",
    "1a71c399035b4950a1bd1466bbe4f420",
    "e086da7e2179491d91ee5f35b3ca210a",
  ],
  [
    "Workers Routes",
    "zone",
    "developer_platform",
    "2072033d694d415a936eaeb94e6405b8",
    "28f4b596e7d643029c524985477ae49a",
  ],
  ["Workers Tail", "account", "developer_platform", "05880cd1bdc24d8bae0be2136972816b"],
  ["Secrets Store", "account", "developer_platform"],
  [
    "Workers KV Storage",
    "account",
    "developer_platform",
    "8b47d2786a534c08a1f94ee8f9f599ef",
    "f7f0eda5697f475c90846e879bab8666",
  ],
  [
    "Workers R2 Storage",
    "account",
    "developer_platform",
    "b4992e1108244f5d8bfbd5744320c2e1",
    "bf7481a1826f439697cb59a20b22293e",
  ],
  [
    "Workers R2 Storage Bucket Item",
    "bucket",
    "developer_platform",
    "6a018a9f2fc74eb6b293b0c548f38b39",
    "2efd5506f9c8494dacb1fa10a3e7d5b6",
  ],
  [
    "AI Gateway",
    "account",
    "developer_platform",
    "4dc8917b4b40457d88d3035d5dadb054",
    "6c8a3737f07f46369c1ea1f22138daaf",
  ],
  ["D1", "account", "developer_platform", "192192df92ee43ac90f2aeeffce67e35", "09b2857d1c31407795e75e3fed8617a1"],
  [
    "Email Routing Addresses",
    "account",
    "email_and_messaging",
    "5272e56105d04b5897466995b9bd4643",
    "e4589eb09e63436686cd64252a3aebeb",
  ],
  [
    "Email Routing Rules",
    "zone",
    "email_and_messaging",
    "1b600d9d8062443e986a973f097e728a",
    "79b3ec0d10ce4148a8f8bdc0cc5f97f2",
  ],
  [
    "Email Sending",
    "account",
    "email_and_messaging",
    "2d5b4b1f6c89487bb7184c2c1dcd3bf1",
    "5df633d6b41c42bcaf5b4a62b9d14b64",
  ],
  ["Account Analytics", "account", "analytics_and_logs", "b89a480218d04ceb98b4fe57ca29dc1f"],
  ["Stream", "account", "media", "de21485a24744b76a004aa153898f7fe", "714f9c13a5684c2885a793f5edb36f59"],
];

const ownId = (name: string) =>
  createHash("sha256").update(`reelpost permission group ${name}`).digest("hex").slice(0, 32);

const group = (name: Permission, scope: Scope, category: Category, id: string = ownId(name)): PermissionGroup => ({
  id,
  name,
  scope,
  category,
});

/** All permission groups, by name. */
export const permissionGroups: readonly PermissionGroup[] = table
  .flatMap(([area, scope, category, read, write]) => [
    group(`${area} Read`, scope, category, read),
    group(`${area} Write`, scope, category, write),
  ])
  .concat(group("AI Gateway Run", "account", "developer_platform", "644535f4ed854494a59cb289d634b257"))
  .sort((a, b) => (a.name < b.name ? -1 : 1));

const byId = new Map(permissionGroups.map((each) => [each.id, each]));

export const permissionGroup = (id: string): PermissionGroup | undefined => byId.get(id);

/** Groups with exactly this name and scope. An omitted filter matches everything. */
export const findPermissionGroups = ({
  name,
  scope,
}: { name?: string | undefined; scope?: string | undefined } = {}): PermissionGroup[] =>
  permissionGroups.filter(
    (each) => (name === undefined || each.name === name) && (scope === undefined || SCOPE_NAMES[each.scope] === scope),
  );
