import type { Db } from "../store/index.ts";
import { findUser, updateUser } from "./accounts-table.ts";
import type { Caller } from "./caller.ts";
import { accountErrors } from "./errors.ts";
import type { User } from "./types.ts";
import type { AccountTables } from "./tables.ts";

export interface Users {
  /** Resolves with the user behind a caller. */
  get(by: Caller): Promise<User>;
  /** Omitted fields keep their values; null clears a field. */
  update(by: Caller, change: UserChange): Promise<User>;
}

type UserChange = Partial<Pick<User, "firstName" | "lastName" | "telephone" | "country" | "zipcode">>;

export function createUsers({ db }: { db: Db }): Users {
  const tables = db.tables<AccountTables>();

  async function get({ user }: Caller): Promise<User> {
    const currentUser = await findUser(tables, user.id);
    if (currentUser === undefined) throw accountErrors.noUser();
    return currentUser;
  }

  return {
    get,
    async update(by, change) {
      await db.transaction<AccountTables, void>((tx) => updateUser(tx, by.user.id, change));
      return get(by);
    },
  };
}
