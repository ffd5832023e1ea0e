import assert from "node:assert/strict";
import { type TestContext } from "node:test";
import type { TestEngine } from "../../test/support/databases.ts";
import { createManualClock, randomIds, silentLog, type UserError } from "../kernel/index.ts";
import { createLocalEvents } from "../store/index.ts";
import { createAccounts, type AccountsOptions } from "./create.ts";
import { accountsMigrations } from "./migrations.ts";
import { roleAllows, type Role } from "./roles.ts";
import { permissionGroups, SCOPE_NAMES } from "./tokens/permission-groups.ts";
import type { Policy, TokenRequest } from "./tokens/types.ts";

export const MINUTE = 60_000;
export const ACCOUNT = "com.cloudflare.api.account";
export const groups = (...names: string[]) =>
  names.map((name) => permissionGroups.find((group) => group.name === name)!.id);

/** Returns the permission groups of a role in an account, as policies of the v4 API. Policy ids are empty. */
export function rolePolicies(role: Role, account: string): Policy[] {
  const groupsOf = (scope: "account" | "zone") =>
    permissionGroups.filter((group) => group.scope === scope && roleAllows(role, group.name)).map(({ id }) => id);
  const name = `${SCOPE_NAMES.account}.${account}`;
  return [
    { id: "", effect: "allow", groups: groupsOf("account"), resources: { [name]: "*" } },
    { id: "", effect: "allow", groups: groupsOf("zone"), resources: { [name]: { [`${SCOPE_NAMES.zone}.*`]: "*" } } },
  ];
}

/** Returns a function for `assert.rejects` that checks the kind of the error. */
export const expectErrorKind = (kind: string) => (thrown: unknown) => {
  assert.equal((thrown as UserError).kind, kind, String(thrown));
  return true;
};

/** Accounts on a real database, with a manual clock and the first user, account and token. */
export async function setUp(engine: TestEngine, t: TestContext, options: Partial<AccountsOptions> = {}) {
  const { db, another } = await engine.open(t, accountsMigrations);
  const clock = createManualClock(Date.UTC(2030, 0, 1));
  const events = createLocalEvents({ log: silentLog });
  const module = createAccounts({ db, clock, ids: randomIds, events, log: silentLog, ...options });
  t.after(() => module.close());
  const first = (await module.bootstrap({ accountName: "Home", email: "Ann@example.com" }))!;
  const caller = async (secret: string, more = {}) => (await module.authenticate({ secret, ...more }))!;
  const admin = await caller(first.token);
  const reader: TokenRequest = {
    name: "reader",
    policies: [
      { effect: "allow", groups: groups("Stream Read"), resources: { [`${ACCOUNT}.${first.account.id}`]: "*" } },
    ],
  };
  const mine = { user: first.user.id };
  return { db, another, clock, events, module, first, admin, caller, reader, mine };
}
