import assert from "node:assert/strict";

/**
 * A model of how the Terraform provider (version 5) turns configuration into requests, and responses into state. It
 * follows the provider's JSON decoder: fields that are absent from a response become null on refresh.
 */

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type Values = Record<string, Json>;

/** Where the value of a field comes from: configuration, response, or configuration with the response as a default. */
type Source = "required" | "optional" | "computed" | "computed_optional";
type Type = "string" | "number" | "boolean" | "time" | "json" | "list" | "set" | "object" | "objects";

interface FieldRules {
  /** `<source> <type>`, such as "optional string". */
  is: `${Source} ${Type}`;
  /** The provider's default, for computed_optional fields. */
  default?: Json;
  /** The field is not read on refresh. */
  no_refresh?: boolean;
  /** The fields of an object or of the objects in a list. */
  fields?: Fields;
  /** On refresh, this field of the objects in a list keeps its value, because the API never returns it. */
  kept?: { field: string; by: string };
}
type Fields = Record<string, FieldRules["is"] | FieldRules>;

interface ReadCall {
  call: string;
  /** Path of the object in the result. Default: the result itself. */
  at?: string[];
  /** The field that the result or the text of the response is stored in. Default: each field by its name. */
  into?: string;
  as?: "text" | "result";
  /** Empty values do not replace those of the state. */
  ignore_empty?: boolean;
  /** The response may be missing. */
  optional?: boolean;
}

export interface Sequence {
  resource: string;
  /** Placeholders in paths and configurations that the test provides. */
  fields: Fields;
  /** The first configuration creates the resource, the others update it. */
  configs: Values[];
  create: string;
  read: ReadCall[];
  /** Absent: each change replaces the resource, or the resource cannot be changed. */
  update?: string;
  /** `patch`: only changed fields are sent. Default: all. */
  changes?: "patch";
  /** If absent, the provider only removes the resource from its state. */
  delete?: string;
  /** Request headers, from fields of the state. */
  headers?: Record<string, string>;
  /** How the body is encoded. Default: JSON of all fields. `list`: JSON of the only field. */
  body?: "form" | "list" | "none" | "worker";
  /** Fields with a different name in the request that creates the resource. */
  create_names?: Record<string, string>;
  /** Status of a read after the deletion. Default 404, upon which the provider removes the resource from its state. */
  gone?: number;
}

const rulesOf = (rules: Fields[string]): FieldRules => (typeof rules === "string" ? { is: rules } : rules);
const split = ({ is }: FieldRules) => is.split(" ") as [Source, Type];

/** Returns the planned values: what is configured, and defaults. */
export function planOf(fields: Fields, config: Values): Values {
  const plan: Values = {};
  for (const [name, given] of Object.entries(fields)) {
    const rules = rulesOf(given);
    const configured = config[name];
    if (configured !== undefined && configured !== null) plan[name] = planNested(rules, configured);
    else if (rules.default !== undefined) plan[name] = rules.default;
  }
  return plan;
}

function planNested({ fields }: FieldRules, value: Json): Json {
  if (fields === undefined || typeof value !== "object" || value === null) return value;
  return Array.isArray(value) ? value.map((one) => planOf(fields, one as Values)) : planOf(fields, value as Values);
}

/** Values as they are sent: JSON that is configured as text is part of the body. */
export function sentFields(fields: Fields, plan: Values): Values {
  return Object.fromEntries(
    Object.entries(plan).map(([name, value]) => {
      const rules = rulesOf(fields[name]!);
      const [, type] = split(rules);
      if (type === "json") return [name, parsed(value)];
      if (rules.fields === undefined || value === null || typeof value !== "object") return [name, value];
      return [
        name,
        Array.isArray(value)
          ? value.map((one) => sentFields(rules.fields!, one as Values))
          : sentFields(rules.fields, value as Values),
      ];
    }),
  );
}

/** Body of a request that creates a resource or replaces all its values. */
export const bodyOf = (plan: Values, names: Record<string, string> = {}): Values =>
  Object.fromEntries(Object.entries(plan).map(([name, value]) => [names[name] ?? name, value]));

/** Body of an update: values that were removed from the configuration are null. */
export function updateBodyOf(plan: Values, state: Values, fields: Fields, changes?: "patch"): Values {
  const body: Values = {};
  for (const [name, given] of Object.entries(fields)) {
    const [source] = split(rulesOf(given));
    if (source === "computed") continue;
    const before = state[name] ?? null;
    const after = plan[name] ?? null;
    if (after !== null && (changes !== "patch" || !same(before, after))) body[name] = after;
    else if (after === null && before !== null && source !== "computed_optional") body[name] = null;
  }
  return body;
}

/** Returns the state after a create or update. Only values that are unknown in the plan come from the response. */
export function stateAfterChange(fields: Fields, plan: Values, result: Values): Values {
  const decoded = decode(fields, result, "");
  return Object.fromEntries(
    Object.entries(fields).map(([name, given]) => {
      const [source] = split(rulesOf(given));
      const isComputed = source === "computed" || (source === "computed_optional" && plan[name] === undefined);
      return [name, (isComputed ? decoded[name] : plan[name]) ?? null];
    }),
  );
}

/** Returns the state after a refresh. */
export function refreshed(fields: Fields, state: Values, result: Values, ignoreEmpty = false): Values {
  const decoded = decode(fields, result, "");
  const next = { ...state };
  for (const [name, given] of Object.entries(fields))
    if (rulesOf(given).no_refresh !== true && !(ignoreEmpty && decoded[name] === null))
      next[name] = keep(rulesOf(given), state[name] ?? null, decoded[name]!);
  return next;
}

function keep({ kept }: FieldRules, before: Json, after: Json): Json {
  if (kept === undefined || !Array.isArray(before) || !Array.isArray(after)) return after;
  const { field, by } = kept;
  return (after as Values[]).map((one) => {
    const old = (before as Values[]).find((other) => other[by] === one[by]);
    return one[field] === null && old?.[field] !== undefined ? { ...one, [field]: old[field] } : one;
  });
}

/** Differences that Terraform would plan; empty if there are none. Computed values alone are never planned. */
export function planned(fields: Fields, config: Values, state: Values, path = ""): string[] {
  return Object.entries(fields).flatMap(([name, given]) => {
    const rules = rulesOf(given);
    const [source, type] = split(rules);
    const at = `${path}${name}`;
    const configured = config[name] ?? rules.default ?? null;
    const current = state[name] ?? null;
    if (source === "computed" || (source === "computed_optional" && configured === null)) return [];
    if (rules.fields !== undefined && configured !== null && current !== null) {
      if (type === "object") return planned(rules.fields, configured as Values, current as Values, `${at}.`);
      const [wanted, found] = [configured as Values[], current as Values[]];
      if (wanted.length === found.length)
        return wanted.flatMap((one, i) => planned(rules.fields!, one, found[i]!, `${at}[${i}].`));
    }
    const isEqual =
      type === "time" && typeof configured === "string" && typeof current === "string"
        ? Date.parse(configured) === Date.parse(current)
        : type === "json"
          ? same(parsed(configured), parsed(current))
          : type === "set"
            ? same(sorted(configured), sorted(current))
            : same(configured, current);
    return isEqual ? [] : [`${at}: ${JSON.stringify(current)} -> ${JSON.stringify(configured)}`];
  });
}

/** JSON may be configured as text. */
const parsed = (value: Json): Json => (typeof value === "string" ? (JSON.parse(value) as Json) : value);

const sorted = (value: Json): Json => (Array.isArray(value) ? value.map((one) => JSON.stringify(one)).sort() : value);

function same(one: Json, other: Json): boolean {
  try {
    assert.deepStrictEqual(one, other);
    return true;
  } catch {
    return false;
  }
}

/** Reads the declared fields. A value of another type is an error, because the provider would ignore it. */
function decode(fields: Fields, result: Values, path: string): Values {
  return Object.fromEntries(
    Object.entries(fields).map(([name, given]) => {
      const rules = rulesOf(given);
      const value = result[name] ?? null;
      return [name, value === null ? null : decodeValue(rules, value, `${path}${name}`)];
    }),
  );
}

function decodeValue(rules: FieldRules, value: Json, at: string): Json {
  const [, type] = split(rules);
  const isValid = {
    string: typeof value === "string",
    number: typeof value === "number",
    boolean: typeof value === "boolean",
    time: typeof value === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(value),
    json: true,
    list: Array.isArray(value),
    set: Array.isArray(value),
    object: typeof value === "object" && !Array.isArray(value),
    objects: Array.isArray(value),
  }[type];
  assert.ok(isValid, `${at} is not of type ${type}: ${JSON.stringify(value)}`);
  if (rules.fields === undefined) return value;
  return Array.isArray(value)
    ? value.map((one, i) => decode(rules.fields!, one as Values, `${at}[${i}].`))
    : decode(rules.fields, value as Values, `${at}.`);
}
