import type { z } from "zod";
import { type FieldMeta, metaAt, unwrap } from "./config/index.ts";
import { settingsSchema } from "./settings.ts";

/** One setting, with everything that the generators need from the schema. */
export interface SettingField {
  /** ["http", "port"] */
  path: string[];
  /** REELPOST_HTTP_PORT */
  variable: string;
  kind: "string" | "number" | "boolean" | "list of strings" | "list of numbers";
  /** The allowed values. */
  choices?: string[];
  preset: unknown;
  description: string;
  example: unknown;
}

interface SettingGroup {
  name: string;
  description: string;
  fields: SettingField[];
}

const PREFIX = "REELPOST_";

export const settingFields = (schema: z.ZodObject = settingsSchema): SettingField[] =>
  settingGroups(schema).flatMap(({ fields }) => fields);

/** Returns the settings by group, in schema order; top-level settings are in a group without a name. */
export function settingGroups(schema: z.ZodObject = settingsSchema): SettingGroup[] {
  const preset = schema.parse({}) as Record<string, unknown>;
  const topLevel: SettingGroup = { name: "", description: "", fields: [] };
  const groups: SettingGroup[] = [topLevel];
  for (const name of Object.keys(schema.shape)) {
    const innerSchema = unwrap(schema.shape[name]) as z.ZodObject;
    if (innerSchema.def.type !== "object") topLevel.fields.push(fieldAt(schema, [name], preset[name]));
    else {
      const presets = preset[name] as Record<string, unknown>;
      const fields = Object.keys(innerSchema.shape).map((field) => fieldAt(schema, [name, field], presets[field]));
      groups.push({ name, description: metaAt(schema, [name]).description ?? "", fields });
    }
  }
  return groups;
}

function fieldAt(schema: z.ZodObject, path: string[], preset: unknown): SettingField {
  const { description = "", example = preset }: FieldMeta = metaAt(schema, path);
  const bareSchema = unwrap(
    path.reduce<z.ZodType>((around, name) => (unwrap(around) as z.ZodObject).shape[name]!, schema),
  )!;
  const { entries } = bareSchema.def as { entries?: Record<string, string> };
  const choices = entries === undefined ? {} : { choices: Object.values(entries) };
  return {
    path,
    variable: PREFIX + path.join("_").toUpperCase(),
    kind: kindOf(bareSchema),
    ...choices,
    preset,
    description,
    example,
  };
}

function kindOf(schema: z.ZodType): SettingField["kind"] {
  const { type, element } = schema.def as { type: string; element?: z.ZodType };
  if (type === "array") return unwrap(element)!.def.type === "number" ? "list of numbers" : "list of strings";
  return type === "number" || type === "boolean" ? type : "string";
}

/**
 * Converts an environment variable to the setting's type. Text that cannot be converted is left unchanged, and the
 * schema rejects it.
 */
export function fromVariable({ kind }: Pick<SettingField, "kind">, text: string): unknown {
  const number = (word: string) => (/^-?\d+(\.\d+)?$/.test(word) ? Number(word) : word);
  switch (kind) {
    case "number":
      return number(text.trim());
    case "boolean":
      return BOOLEANS[text.trim().toLowerCase()] ?? text;
    case "list of strings":
    case "list of numbers": {
      const words = text
        .split(",")
        .map((word) => word.trim())
        .filter((word) => word !== "");
      return kind === "list of numbers" ? words.map(number) : words;
    }
    case "string":
      return text;
  }
}

const BOOLEANS: Record<string, boolean | undefined> = {
  true: true,
  false: false,
  yes: true,
  no: false,
  on: true,
  off: false,
  1: true,
  0: false,
};
