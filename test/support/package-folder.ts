import { cp, mkdir, readdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { buildProgram, writeBuiltFiles } from "../../scripts/bundle.ts";
import { PROGRAM } from "./program.ts";

const root = join(import.meta.dirname, "..", "..");
const clients = join(root, "test", "clients", "node_modules");

/**
 * Creates `node_modules` in `folder` with the built package and links to its dependencies, as if npm had installed it.
 * `others`: packages of `test/clients`. Resolves with the path of `node_modules`.
 */
export async function installPackage(folder: string, others: readonly string[] = []): Promise<string> {
  const packages = join(folder, "node_modules");
  const target = join(packages, "reelpost");
  await mkdir(join(packages, ".bin"), { recursive: true });
  await mkdir(target);
  for (const name of ["package.json", "bin"]) await cp(join(root, name), join(target, name), { recursive: true });
  const main = process.env[PROGRAM];
  if (main === undefined) await writeBuiltFiles(await buildProgram(root), join(target, "dist"));
  else await cp(dirname(dirname(main)), join(target, "dist"), { recursive: true });
  await symlink(join("..", "reelpost", "bin", "reelpost.cjs"), join(packages, ".bin", "reelpost"));
  for (const name of await readdir(join(root, "node_modules")))
    if (!name.startsWith(".")) await symlink(join(root, "node_modules", name), join(packages, name));
  for (const name of others) await symlink(join(clients, name), join(packages, name));
  return packages;
}
