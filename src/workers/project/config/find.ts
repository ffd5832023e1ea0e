import { access, readFile, readdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { nearestName } from "../../../kernel/config/index.ts";
import { messageOf } from "../../../kernel/errors.ts";
import { projectErrors } from "../errors.ts";

/** In order of preference; only the first one found in a folder is used. */
export const CONFIG_NAMES = ["wrangler.jsonc", "wrangler.json", "wrangler.toml", "reelpost.jsonc"] as const;

interface FoundConfig {
  file: string;
  /** The folder of the user's own file; differs from the folder of `file` if a build tool generated `file`. */
  userRoot: string;
  /** True if `.wrangler/deploy/config.json` names `file`. */
  isGenerated: boolean;
  /** Other configuration files in the same folder, which are not read. */
  others: string[];
}

/** In this file, build tools specify which configuration to use instead of the user's. */
const REDIRECT = join(".wrangler", "deploy", "config.json");

/**
 * Resolves with the given file. Otherwise, searches `cwd` and its parent folders for the first of CONFIG_NAMES, or the
 * file that `.wrangler/deploy/config.json` names. If a folder has both, `prefer` decides. Throws configurationMissing,
 * redirectInvalid.
 */
export async function findConfig(
  cwd: string,
  { named: requestedConfig, prefer }: { named?: string | undefined; prefer: "generated" | "user" },
): Promise<FoundConfig> {
  if (requestedConfig !== undefined) {
    const file = resolve(cwd, requestedConfig);
    return { file, userRoot: dirname(file), isGenerated: false, others: [] };
  }
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    const redirect = join(folder, REDIRECT);
    const [isRedirected, ...existsByName] = await Promise.all(
      [redirect, ...CONFIG_NAMES.map((name) => join(folder, name))].map(exists),
    );
    const [first, ...others] = CONFIG_NAMES.filter((_, i) => existsByName[i]);
    if (isRedirected! && (prefer === "generated" || first === undefined))
      return { file: await followRedirect(redirect), userRoot: folder, isGenerated: true, others: [] };
    if (first !== undefined) return { file: join(folder, first), userRoot: folder, isGenerated: false, others };
    if (folder === dirname(folder))
      throw projectErrors.configurationMissing({ folder: resolve(cwd), names: CONFIG_NAMES.join(", ") });
  }
}

async function followRedirect(file: string): Promise<string> {
  const text = await readConfigText(file);
  const invalidError = (reason: string) => projectErrors.redirectInvalid({ file, reason });
  let path: unknown;
  try {
    ({ configPath: path } = JSON.parse(text) as { configPath?: unknown });
  } catch (err) {
    throw invalidError(messageOf(err));
  }
  if (typeof path !== "string") throw invalidError('it has no "configPath"');
  const target = resolve(dirname(file), path);
  if (!(await exists(target))) throw invalidError(`${target} does not exist`);
  return target;
}

export async function readConfigText(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (err) {
    const reason = (err as NodeJS.ErrnoException).code === "ENOENT" ? "the file does not exist" : messageOf(err);
    throw projectErrors.configurationUnreadable({ file, reason }, { cause: err });
  }
}

export const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** Resolves with an existing file in the same folder with a similar name, for "did you mean". */
export async function nearestFile(path: string): Promise<string | undefined> {
  const names = await readdir(dirname(path)).catch(() => []);
  const stem = (name: string) => name.replace(/\.[^.]*$/, "");
  const wantedName = basename(path);
  // The correct name with the wrong extension is the most common mistake: index.js for index.ts.
  const name = names.find((other) => stem(other) === stem(wantedName)) ?? nearestName(wantedName, names);
  return name === undefined ? undefined : join(dirname(path), name);
}
