import type { SettingsInput } from "../kernel/settings.ts";
import type { CommandContext, Options } from "./command.ts";

/** Options that locate the data of a server. */
export const serverDataOptions = {
  settings: {
    type: "string",
    short: "s",
    placeholder: "file",
    summary: "settings file of the server: .jsonc, .json or .toml",
    complete: "file",
  },
  "data-dir": {
    type: "string",
    placeholder: "dir",
    summary: "data directory of the server",
    defaultText: ".reelpost",
    complete: "directory",
  },
} as const satisfies Options;

export interface ServerDataValues {
  settings: string | undefined;
  "data-dir": string | undefined;
}

/** The settings file and the settings that the options specify. */
export function settingsSource(values: ServerDataValues): { settingsFile?: string; overrides: SettingsInput } {
  return {
    ...(values.settings !== undefined && { settingsFile: values.settings }),
    overrides: values["data-dir"] === undefined ? {} : { data_dir: values["data-dir"] },
  };
}

export async function readServerSettings(values: ServerDataValues, { cwd, env }: CommandContext) {
  const { readServerSettingsOf } = await import("../server/index.ts");
  return readServerSettingsOf({ cwd, env, ...settingsSource(values) });
}
