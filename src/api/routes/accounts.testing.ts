import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { accountsMigrations, createAccounts, type AccountContents } from "../../accounts/index.ts";
import { randomIds, silentLog, systemClock } from "../../kernel/index.ts";
import { createLocalEvents, migrate, openSqlite } from "../../store/index.ts";
import { startApi } from "../api.testing.ts";
import { createAccessControl } from "../access-control.ts";
import { accountRoutes } from "./accounts.ts";
import { auditLogRoutes } from "./audit-logs.ts";
import { memberRoutes } from "./members.ts";
import { membershipRoutes } from "./memberships.ts";
import { tokenRoutes } from "./tokens.ts";
import { userInviteRoutes } from "./user-invites.ts";
import { userRoutes } from "./user.ts";
import { userSessionRoutes } from "./user-sessions.ts";
import { userSignInRoutes } from "./user-sign-in.ts";

export const ACCOUNT = "com.cloudflare.api.account";
export const STREAM_READ = "de21485a24744b76a004aa153898f7fe";

/** Serves the routes over HTTP, with accounts and tokens from a first run. */
export async function setUpAccounts(t: TestContext, { contents }: { contents?: AccountContents } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "accounts-api-"));
  const db = await openSqlite({ path: join(folder, "test.db") });
  await migrate(db, accountsMigrations);
  const available = createAccounts({
    db,
    clock: systemClock,
    ids: randomIds,
    events: createLocalEvents({ log: silentLog }),
    log: silentLog,
    ...(contents && { contents }),
  });
  t.after(async () => {
    await available.close();
    await db.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const { user, account, token } = (await available.bootstrap())!;
  const routes = [
    ...accountRoutes(available),
    ...userRoutes(available),
    ...userSessionRoutes(available),
    ...userSignInRoutes(available),
    ...membershipRoutes(available),
    ...tokenRoutes(available),
    ...auditLogRoutes(available),
    ...memberRoutes(available),
    ...userInviteRoutes(available, systemClock),
  ];
  const api = await startApi(t, {
    routes,
    changes: { audit: available.audit },
    accessControl: createAccessControl({
      accounts: available,
      zones: { zoneAccount: async () => undefined, cachedZoneAccount: () => undefined },
    }),
  });
  const as =
    (secret: string): typeof api.call =>
    (method, path, options = {}) =>
      api.call(method, path, { ...options, headers: { authorization: `Bearer ${secret}`, ...options.headers } });
  const reader = {
    name: "reader",
    policies: [
      { effect: "allow", permission_groups: [{ id: STREAM_READ }], resources: { [`${ACCOUNT}.${account.id}`]: "*" } },
    ],
  };
  const call = as(token);
  const make = async (more = {}) => (await call("post", "/user/tokens", { body: { ...reader, ...more } })).body.result;
  return { available, api, user, account, token, as, call, reader, make };
}

/** Returns the status, and the code and text of the first error. */
export const firstErrorOf = ({
  status,
  body,
}: {
  status: number;
  body: { errors: { code: number; message: string }[] };
}) => [status, body.errors[0]?.code, body.errors[0]?.message];
