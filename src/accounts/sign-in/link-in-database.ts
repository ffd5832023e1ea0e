import { existsSync } from "node:fs";
import { randomIds, type Clock } from "../../kernel/index.ts";
import { createLocalLimits } from "../../kernel/rate-limits.ts";
import { openPostgres, openSqlite } from "../../store/index.ts";
import { accountErrors } from "../errors.ts";
import { createSignInAttempts } from "./attempts.ts";
import { createSignInLinks, type SignInLinks } from "./links.ts";

/**
 * Creates a sign-in link in the database of a server, which may be running. It needs no one-time code: users who can
 * open the database can already read everything. Rejects with noUser before the first start, and noUserOf.
 */
export async function createLinkInDatabase(
  database: { path: string } | Parameters<typeof openPostgres>[0],
  { email, clock }: { email?: string | undefined; clock: Clock },
): ReturnType<SignInLinks["createSignInLink"]> {
  if ("path" in database && !existsSync(database.path)) throw accountErrors.noUser();
  // No migrations: the schema belongs to the version of the server that runs.
  const db = "path" in database ? openSqlite(database) : await openPostgres(database);
  try {
    const links = createSignInLinks({
      db,
      clock,
      ids: randomIds,
      attempts: createSignInAttempts(createLocalLimits(clock)),
    });
    return await links.createSignInLink(email === undefined ? undefined : { email }, { skipsTwoFactor: true });
  } finally {
    await db.close();
  }
}
