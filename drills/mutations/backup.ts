import type { Mutation } from "./mutation.ts";

const BACKUP_TEST = "src/backup/backup.test.ts";
const HOLD_TEST = "src/store/objects/fs/hold.test.ts";
const SNAPSHOT_TEST = "src/store/db/row-snapshot.test.ts";

export const mutations: Mutation[] = [
  { file: "src/store/objects/fs/fs.ts", from: "holds.keep(key);", to: "", test: HOLD_TEST },
  {
    file: "src/store/objects/fs/hold.ts",
    from: "if (isLost) throw storeErrors.holdLost({ folder: root });",
    to: "",
    test: HOLD_TEST,
  },
  {
    file: "src/store/objects/fs/hold.ts",
    from: "return isHeld ? path : join(root, name);",
    to: "return join(root, name);",
    test: BACKUP_TEST,
    name: "deleted or replaced during the backup",
  },
  {
    file: "src/store/db/row-snapshot.ts",
    from: 'db.exec("pragma query_only = on; begin");',
    to: 'db.exec("pragma query_only = on");',
    test: SNAPSHOT_TEST,
    name: "on sqlite",
  },
  {
    file: "src/backup/create.ts",
    from: "cached !== undefined && (await folder.has(cached.stored))",
    to: "cached !== undefined",
    test: BACKUP_TEST,
    name: "missing, truncated or changed",
  },
  {
    file: "src/backup/restore.ts",
    from: "if (sha256 !== file.sha256) {",
    to: "if (false) {",
    test: BACKUP_TEST,
    name: "without changing its size",
  },
  {
    file: "src/backup/restore.ts",
    from: "await checkTarget(options, manifest)",
    to: "false",
    test: BACKUP_TEST,
    name: "never overwritten",
  },
];
