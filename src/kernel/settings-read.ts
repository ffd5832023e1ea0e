import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import {
  type ConfigDocument,
  type Path,
  type Problem,
  checkDocument,
  countProblems,
  errorAt,
  errorsOf,
  formatProblems,
  nearestName,
  parseDocument,
  warningAt,
  warningsOf,
} from "./config/index.ts";
import { defineErrors, messageOf } from "./errors.ts";
import { fromVariable, settingFields } from "./settings-fields.ts";
import { type Settings, type SettingsInput, settingsSchema } from "./settings.ts";

const settingsErrors = defineErrors("settings", {
  invalid: { code: "E_SETTINGS", http: 400, message: "Invalid settings: {count}\n\n{report}" },
  unreadable: {
    code: "E_SETTINGS_UNREADABLE",
    http: 400,
    message: "Cannot read the settings file {file}: {reason}",
  },
});

interface ReadSettingsOptions {
  cwd: string;
  /** A .jsonc, .json or .toml file. Optional. */
  file?: string;
  env: Record<string, string | undefined>;
  /** From the command line: these override everything else. */
  overrides?: SettingsInput;
}

/** Where the value of a setting comes from. */
export type SettingOrigin = "default" | "file" | "environment" | "command line";

/**
 * Merges defaults, the file, REELPOST_ variables and the command line, in this order. Throws `settingsErrors.invalid`
 * with all problems in file and environment; `data_dir` is returned as an absolute path.
 */
export async function readSettings({ cwd, file, env, overrides = {} }: ReadSettingsOptions): Promise<{
  settings: Settings;
  warnings: Problem[];
  /** By name, such as "http.port"; settings with their default are absent. */
  origins: ReadonlyMap<string, SettingOrigin>;
}> {
  const document = file === undefined ? undefined : await readDocument(resolve(cwd, file));
  const fromFile =
    document === undefined || document.value === undefined ? undefined : checkDocument(document, settingsSchema);
  const fromEnvironment = readEnvironment(env);
  const problems = [...(document?.problems ?? []), ...(fromFile?.problems ?? []), ...fromEnvironment.problems];
  if (errorsOf(problems).length > 0)
    throw settingsErrors.invalid({
      problems,
      count: countProblems(problems),
      report: formatProblems(problems, { cwd }),
    });
  const settings = settingsSchema.parse(merge(merge(fromFile?.value ?? {}, fromEnvironment.value), overrides));
  const folderOfFile =
    file === undefined || env.REELPOST_DATA_DIR !== undefined || overrides.data_dir !== undefined
      ? cwd
      : dirname(resolve(cwd, file));
  return {
    settings: { ...settings, data_dir: resolve(folderOfFile, settings.data_dir) },
    warnings: warningsOf(problems),
    origins: originsOf([
      ["file", (document?.value ?? {}) as object],
      ["environment", fromEnvironment.value],
      ["command line", overrides],
    ]),
  };
}

/** Later sources take precedence. */
function originsOf(sources: readonly [SettingOrigin, object][]): ReadonlyMap<string, SettingOrigin> {
  const origins = new Map<string, SettingOrigin>();
  for (const { path } of settingFields())
    for (const [origin, values] of sources) {
      const value = path.reduce<unknown>(
        (group, part) => (group as Record<string, unknown> | undefined)?.[part],
        values,
      );
      if (value !== undefined) origins.set(path.join("."), origin);
    }
  return origins;
}

async function readDocument(file: string): Promise<ConfigDocument> {
  const text = await readFile(file, "utf8").catch((thrown: unknown) => {
    throw settingsErrors.unreadable({ file, reason: messageOf(thrown) }, { cause: thrown });
  });
  return parseDocument(file, text);
}

/** Validates the variables separately, so that each problem names its variable. */
function readEnvironment(env: ReadSettingsOptions["env"]): { value: object; problems: Problem[] } {
  const fields = settingFields();
  const value: Record<string, unknown> = {};
  const problems: Problem[] = [];
  for (const [variable, text] of Object.entries(env)) {
    if (!variable.startsWith("REELPOST_") || text === undefined) continue;
    const field = fields.find((candidate) => candidate.variable === variable);
    if (field !== undefined) put(value, field.path, fromVariable(field, text));
    else
      problems.push(
        unknownVariable(
          variable,
          fields.map((candidate) => candidate.variable),
        ),
      );
  }
  const named = (path: Path) =>
    `environment variable ${fields.find((field) => field.path.every((part, i) => part === path[i]))?.variable}`;
  const document: ConfigDocument = {
    file: "environment",
    syntax: "json",
    text: "",
    value,
    problems: [],
    locate: () => ({ file: "environment", line: 1, column: 1 }),
  };
  // One schema pass finds all problems; the variable of each is its position.
  const issues = settingsSchema.safeParse(value).error?.issues ?? [];
  const documentProblems = checkDocument(document, settingsSchema).problems;
  return {
    value,
    problems: [
      ...problems,
      ...documentProblems.map(({ message, fix }, i) => errorAt({ file: named(issues[i]!.path as Path) }, message, fix)),
    ],
  };
}

function unknownVariable(variable: string, knownVariables: readonly string[]): Problem {
  const suggestion = nearestName(variable, knownVariables);
  return warningAt(
    { file: `environment variable ${variable}` },
    "unknown setting; it is ignored",
    suggestion === undefined ? undefined : `did you mean ${suggestion}?`,
  );
}

function put(target: Record<string, unknown>, [first, ...rest]: readonly string[], value: unknown) {
  if (rest.length === 0) target[first!] = value;
  else put((target[first!] ??= {}) as Record<string, unknown>, rest, value);
}

/** `over` takes precedence, group by group; lists are replaced, not concatenated. */
function merge(baseValues: object, over: object): object {
  const merged: Record<string, unknown> = { ...baseValues };
  for (const [name, value] of Object.entries(over)) {
    const baseValue = merged[name];
    if (value !== undefined) merged[name] = isGroup(value) && isGroup(baseValue) ? merge(baseValue, value) : value;
  }
  return merged;
}

const isGroup = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);
