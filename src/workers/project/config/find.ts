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

/** Build tools write here which configuration to use instead of the one of the user. */
const REDIRECT = join(".wrangler", "deploy", "config.json");

/**
 * The given file; otherwise the file that `.wrangler/deploy/config.json` names, or the first of CONFIG_NAMES, whichever
 * is found first in `cwd` or a parent folder. Throws configurationMissing, redirectInvalid.
 */
export async function findConfig(cwd: string, named?: string): Promise<FoundConfig> {
  if (named !== undefined) return { file: resolve(cwd, named), others: [] };
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    const redirect = join(folder, REDIRECT);
    if (await exists(redirect)) return { file: await followRedirect(redirect), others: [] };
    const present = await Promise.all(CONFIG_NAMES.map((name) => exists(join(folder, name))));
    const [first, ...others] = CONFIG_NAMES.filter((_, i) => present[i]);
    if (first !== undefined) return { file: join(folder, first), others };
    if (folder === dirname(folder))
      throw projectErrors.configurationMissing({ folder: resolve(cwd), names: CONFIG_NAMES.join(", ") });
  }
}

async function followRedirect(file: string): Promise<string> {
  const text = await readConfigText(file);
  const invalid = (reason: string) => projectErrors.redirectInvalid({ file, reason });
  let path: unknown;
  try {
    ({ configPath: path } = JSON.parse(text) as { configPath?: unknown });
  } catch (thrown) {
    throw invalid(messageOf(thrown));
  }
  if (typeof path !== "string") throw invalid('it has no "configPath"');
  const target = resolve(dirname(file), path);
  if (!(await exists(target))) throw invalid(`${target} does not exist`);
  return target;
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
