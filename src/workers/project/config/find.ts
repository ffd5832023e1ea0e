import { access, readFile, readdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { nearestName } from "../../../kernel/config/index.ts";
import { messageOf } from "../../../kernel/errors.ts";
import { projectErrors } from "../errors.ts";

/** In order of preference; only the first one found in a folder is used. */
export const CONFIG_NAMES = ["wrangler.jsonc", "wrangler.json", "wrangler.toml", "reelpost.jsonc"] as const;

interface FoundConfig {
  file: string;
  /** Other configuration files in the same folder, which are not read. */
  others: string[];
}

/** The given file, or the first of CONFIG_NAMES found in `cwd` or a parent folder. */
export async function findConfig(cwd: string, named?: string): Promise<FoundConfig> {
  if (named !== undefined) return { file: resolve(cwd, named), others: [] };
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    const present = await Promise.all(CONFIG_NAMES.map((name) => exists(join(folder, name))));
    const [first, ...others] = CONFIG_NAMES.filter((_, i) => present[i]);
    if (first !== undefined) return { file: join(folder, first), others };
    if (folder === dirname(folder))
      throw projectErrors.configurationMissing({ folder: resolve(cwd), names: CONFIG_NAMES.join(", ") });
  }
}

export async function readConfigText(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (thrown) {
    const reason = (thrown as NodeJS.ErrnoException).code === "ENOENT" ? "there is no such file" : messageOf(thrown);
    throw projectErrors.configurationUnreadable({ file, reason }, { cause: thrown });
  }
}

export const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** An existing file in the same folder with a similar name, for "did you mean". */
export async function nearestFile(path: string): Promise<string | undefined> {
  const names = await readdir(dirname(path)).catch(() => []);
  const stem = (name: string) => name.replace(/\.[^.]*$/, "");
  const wanted = basename(path);
  // The correct name with the wrong extension is the most common mistake: index.js for index.ts.
  const name = names.find((other) => stem(other) === stem(wanted)) ?? nearestName(wanted, names);
  return name === undefined ? undefined : join(dirname(path), name);
}
