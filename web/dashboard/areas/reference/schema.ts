/** The part of JSON Schema (2020-12) that the OpenAPI document uses. */
export interface Schema {
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: boolean | Schema;
  default?: unknown;
  format?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
  pattern?: string;
}

/** A field of a body or a result; nested fields follow their parent. */
export interface Field {
  /** `rules[].matchers[].type` */
  path: string;
  depth: number;
  name: string;
  type: string;
  isRequired: boolean;
  notes: string;
}

const MAX_DEPTH = 5;
const MAX_FIELDS = 300;

const alternativesOf = ({ anyOf, oneOf }: Schema) => anyOf ?? oneOf;

/** Returns the type in words: `string`, `list of objects`, `"a" | "b"`. */
export function typeOf(schema: Schema = {}): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const alternatives = alternativesOf(schema);
  if (alternatives !== undefined) return [...new Set(alternatives.map(typeOf))].join(" | ");
  const names = [schema.type ?? (schema.properties === undefined ? "any" : "object")].flat();
  return names.map((name) => (name === "array" ? listOf(schema.items) : name)).join(" | ");
}

function listOf(items: Schema | undefined): string {
  const item = typeOf(items);
  if (item === "any") return "list";
  return /^(object|string|number|integer|boolean)$/.test(item) ? `list of ${item}s` : `list of (${item})`;
}

/** Limits, default and description in one line. */
export function notesOf(schema: Schema = {}): string {
  const limits: [string, unknown][] = [
    ["default", schema.default === undefined ? undefined : JSON.stringify(schema.default)],
    ["format", schema.format],
    ["at least", finite(schema.minimum)],
    ["at most", finite(schema.maximum)],
    ["at least", schema.minLength && `${schema.minLength} characters`],
    ["at most", schema.maxLength && `${schema.maxLength} characters`],
    ["at most", schema.maxItems && `${schema.maxItems} items`],
  ];
  return [
    schema.description,
    ...limits
      .filter(([, value]) => value !== undefined && value !== 0)
      .map(([name, value]) => `${name} ${String(value)}`),
  ]
    .filter(Boolean)
    .join(", ");
}

/** The bounds of JavaScript integers are not limits of the API. */
const finite = (value: number | undefined) =>
  value === undefined || Math.abs(value) >= Number.MAX_SAFE_INTEGER ? undefined : value;

/** Returns the fields of an object, or of the objects in a list. Deeper levels and very long lists are truncated. */
export function fieldsOf(schema: Schema | undefined): Field[] {
  const fields: Field[] = [];
  const visit = (object: Schema, prefix: string, depth: number) => {
    for (const [name, field] of Object.entries(object.properties ?? {})) {
      if (fields.length >= MAX_FIELDS) return;
      const path = prefix === "" ? name : `${prefix}.${name}`;
      fields.push({
        path,
        depth,
        name,
        type: typeOf(field),
        isRequired: object.required?.includes(name) === true,
        notes: notesOf(field),
      });
      const nested = objectIn(field);
      if (nested !== undefined && depth + 1 < MAX_DEPTH) visit(nested, path, depth + 1);
    }
  };
  const root = schema === undefined ? undefined : objectIn(schema);
  if (root !== undefined) visit(root, "", 0);
  return fields;
}

/** Returns the object schema in a schema: itself, its items, or its only alternative that has fields. */
function objectIn(schema: Schema): Schema | undefined {
  if (schema.properties !== undefined) return schema;
  if (schema.items !== undefined) return objectIn(schema.items);
  const objects = (alternativesOf(schema) ?? schema.allOf ?? []).flatMap((one) => objectIn(one) ?? []);
  return objects.length === 0 ? undefined : objects[0];
}

/** Returns the smallest value that matches the schema, for an example. */
export function sampleOf(schema: Schema = {}): unknown {
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  const alternatives = alternativesOf(schema);
  if (alternatives !== undefined) return sampleOf(alternatives[0]);
  const type = [schema.type ?? (schema.properties === undefined ? "any" : "object")].flat()[0];
  if (type === "object")
    return Object.fromEntries((schema.required ?? []).map((name) => [name, sampleOf(schema.properties?.[name])]));
  if (type === "array") return schema.items === undefined ? [] : [sampleOf(schema.items)];
  if (type === "integer" || type === "number") return finite(schema.minimum) ?? 1;
  return { string: "…", boolean: true }[type as string] ?? null;
}
