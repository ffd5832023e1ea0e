import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Extracts the files of a commit, and returns the path of the program's main module. */
export function checkOutCommit(root: string, commit: string, to: string): string {
  mkdirSync(to, { recursive: true });
  const archive = execFileSync("git", ["archive", commit, "src", "package.json", "web", "tsconfig.json"], {
    cwd: root,
    maxBuffer: 1024 ** 3,
  });
  execFileSync("tar", ["-x", "-C", to], { input: archive });
  symlinkSync(join(root, "node_modules"), join(to, "node_modules"));
  return join(to, "src", "cli", "main.ts");
}

/** Returns the parent of HEAD, or HEAD itself in a shallow clone. */
export function previousCommit(root: string): string {
  try {
    return execFileSync("git", ["rev-parse", "--verify", "--quiet", "HEAD^^{commit}"], {
      cwd: root,
      encoding: "utf8",
    }).trim();
  } catch {
    return "HEAD";
  }
}

/** True if this version drains: it keeps its listeners open for a while after /readyz returns 503. */
export const supportsDraining = (folder: string): boolean =>
  readFileSync(join(folder, "src", "kernel", "settings.ts"), "utf8").includes("drain_seconds") ||
  existsSync(join(folder, "src", "kernel", "cluster-settings.ts"));

const LAST = "  ...serverMigrations,\n";

/** Adds a migration to the checked-out version, so that its schema differs from the schema of the previous version. */
export function addMigration(folder: string): void {
  const file = join(folder, "src", "server", "migrations.ts");
  const text = readFileSync(file, "utf8");
  if (!text.includes(LAST)) throw new Error(`${file} does not end with serverMigrations`);
  const migration = `  {
    name: "drill-001-next-version",
    async up(db) {
      await db.schema.createTable("drill_next").addColumn("id", "bigint", (column) => column.primaryKey()).execute();
      await db.schema.alterTable("zones").addColumn("drill_note", "text").execute();
    },
  },
`;
  writeFileSync(file, text.replace(LAST, LAST + migration));
}
