import { settingFields } from "../kernel/settings-fields.ts";
import type { SettingOrigin } from "../kernel/settings-read.ts";
import type { Settings } from "../kernel/settings.ts";

interface EffectiveSetting {
  name: string;
  variable: string;
  description: string;
  value: unknown;
  secret: boolean;
  preset: unknown;
  origin: SettingOrigin;
}

/** Names of settings that contain a secret. `key_file` names a file. */
const SECRET = /(?:^|_)(?:token|key|secret|password)$/;
const URL_PASSWORD = /(\/\/)[^/@\s]*@/g;

/** The settings of this process, without secrets. */
export const effectiveSettings = (
  settings: Settings,
  origins: ReadonlyMap<string, SettingOrigin>,
): EffectiveSetting[] =>
  settingFields().map(({ path, variable, description, preset }) => {
    const name = path.join(".");
    const value = path.reduce<unknown>((group, part) => (group as Record<string, unknown>)[part], settings);
    const isSecret = SECRET.test(path.at(-1)!);
    return {
      name,
      variable,
      description,
      value: isSecret ? (value === "" ? "" : null) : withoutPasswords(value),
      secret: isSecret,
      preset,
      origin: origins.get(name) ?? "default",
    };
  });

/** Connection URLs may contain a user and a password. */
function withoutPasswords(value: unknown): unknown {
  if (typeof value === "string") return value.replace(URL_PASSWORD, "$1…@");
  return Array.isArray(value) ? value.map(withoutPasswords) : value;
}
