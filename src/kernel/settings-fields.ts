import type { z } from "zod";
import { type FieldMeta, metaAt, unwrap } from "./config/index.ts";
import { settingsSchema } from "./settings.ts";

/** One setting, as everything that is made from the schema needs it. */
export interface SettingField {
  /** ["http", "port"] */
  path: string[];
  /** REELPOST_HTTP_PORT */
  variable: string;
  kind: "string" | "number" | "boolean" | "list of strings" | "list of numbers";
  /** The only values. */
  choices?: string[];
  preset: unknown;
  description: string;
  example: unknown;
}

export interface SettingGroup {
  name: string;
  description: string;
  fields: SettingField[];
}

const PREFIX = "REELPOST_";

export const settingFields = (schema: z.ZodObject = settingsSchema): SettingField[] => settingGroups(schema).flatMap(({ fields }) => fields);

/** In the order of the schema; settings that stand alone are in a group without a name. */
export function settingGroups(schema: z.ZodObject = settingsSchema): SettingGroup[] {
  const preset = schema.parse({}) as Record<string, unknown>;
  const single: SettingGroup = { name: "", description: "", fields: [] };
  const groups: SettingGroup[] = [single];
  for (const name of Object.keys(schema.shape)) {
    const inner = unwrap(schema.shape[name]) as z.ZodObject;
    if (inner.def.type !== "object") single.fields.push(fieldAt(schema, [name], preset[name]));
    else groups.push({ name, description: metaAt(schema, [name]).description ?? "", fields: Object.keys(inner.shape).map((field) => fieldAt(schema, [name, field], (preset[name] as Record<string, unknown>)[field])) });
  }
  return groups;
}

function fieldAt(schema: z.ZodObject, path: string[], preset: unknown): SettingField {
  const { description = "", example = preset }: FieldMeta = metaAt(schema, path);
  const bare = unwrap(path.reduce<z.ZodType>((around, name) => (unwrap(around) as z.ZodObject).shape[name]!, schema))!;
  const def = bare.def as { type: string; element?: z.ZodType; entries?: Record<string, string> };
  const kind = def.type === "array" ? (unwrap(def.element)!.def.type === "number" ? "list of numbers" : "list of strings") : def.type === "number" ? "number" : def.type === "boolean" ? "boolean" : "string";
  return { path, variable: PREFIX + path.join("_").toUpperCase(), kind, ...(def.entries === undefined ? {} : { choices: Object.values(def.entries) }), preset, description, example };
}

/** The value of an environment variable, as its setting wants it. Text that fits no form is left as it is: the schema then refuses it. */
export function fromVariable({ kind }: Pick<SettingField, "kind">, text: string): unknown {
  const number = (word: string) => (/^-?\d+(\.\d+)?$/.test(word) ? Number(word) : word);
  switch (kind) {
    case "number":
      return number(text.trim());
    case "boolean":
      return BOOLEANS[text.trim().toLowerCase()] ?? text;
    case "list of strings":
    case "list of numbers": {
      const words = text.split(",").map((word) => word.trim()).filter((word) => word !== "");
      return kind === "list of numbers" ? words.map(number) : words;
    }
    case "string":
      return text;
  }
}

const BOOLEANS: Record<string, boolean | undefined> = { true: true, false: false, yes: true, no: false, on: true, off: false, 1: true, 0: false };
