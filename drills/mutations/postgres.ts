import type { Mutation } from "./mutation.ts";

const FAILOVER_TEST = "src/store/db/postgres-failover.test.ts";
const MOVE_TEST = "src/backup/move.test.ts";

export const mutations: Mutation[] = [
  {
    file: "src/store/db/postgres-session.ts",
    from: 'if (facts.standby) throw new NotPrimary("it is a standby");',
    to: "",
    test: FAILOVER_TEST,
  },
  {
    file: "src/store/db/postgres-session.ts",
    from: 'if (routine === "SyncRepWaitForLSN") session.isUnreplicated = true;',
    to: "void routine;",
    test: FAILOVER_TEST,
  },
  {
    file: "src/store/db/postgres-connection.ts",
    from: '(kind === "read" || kind === "begin" || isReadOnlyError(err))',
    to: 'kind !== "commit"',
    test: FAILOVER_TEST,
  },
  {
    file: "src/store/db/migrate.ts",
    from: "older === null || older === NONE || ",
    to: "older === NONE || ",
    test: "src/store/db/db.test.ts",
  },
  {
    file: "src/backup/move.ts",
    from: 'freezeSqlite(path, database?.label ?? "another object store");',
    to: "",
    test: MOVE_TEST,
  },
  {
    file: "src/backup/move.ts",
    from: "found?.sha256 !== sha256 || ",
    to: "",
    test: MOVE_TEST,
  },
];
