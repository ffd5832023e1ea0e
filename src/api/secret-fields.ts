import { z } from "@hono/zod-openapi";

const secretFields = z.registry<{ secret: true }>();

/**
 * Marks a field of a response whose value is a secret: a key, a token, or a URL that contains one. The audit log stores
 * "[redacted]" instead, and the OpenAPI document marks the field `x-sensitive`.
 */
export const secretField = <Schema extends z.ZodType>(schema: Schema): Schema => {
  const marked = schema.openapi({ "x-sensitive": true });
  secretFields.add(marked, { secret: true });
  return marked;
};

/** The secret fields of a schema: their names, at any depth, or "all" if the schema itself is a secret. */
export type SecretNames = ReadonlySet<string> | "all";

export function secretNamesOf(schema: z.ZodType | undefined): SecretNames {
  const names = new Set<string>();
  if (schema === undefined) return names;
  const json = z.toJSONSchema(schema, { metadata: secretFields, io: "input", unrepresentable: "any" });
  return collect(json as Json, undefined, names) ? "all" : names;
}

const REDACTED = "[redacted]";

/** Returns a copy of a JSON value without the values of the secret fields. */
export function redact(value: unknown, names: SecretNames): unknown {
  if (names === "all") return value == null ? value : REDACTED;
  return names.size === 0 ? value : without(value, names);
}

function without(value: unknown, names: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((item) => without(item, names));
  if (typeof value !== "object" || value === null) return value;
  // Dates and the like become text in JSON.
  if ("toJSON" in value && typeof value.toJSON === "function") return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name,
      names.has(name) && field != null && field !== "" ? REDACTED : without(field, names),
    ]),
  );
}

type Json = { [key: string]: unknown };

/** Adds the names of the secret fields below a JSON schema; true if it describes a secret itself. */
function collect(schema: Json, name: string | undefined, names: Set<string>): boolean {
  let isSecret = schema["secret"] === true;
  const visit = (child: unknown) => {
    if (typeof child === "object" && child !== null && collect(child as Json, name, names)) isSecret = true;
  };
  for (const key of ["anyOf", "oneOf", "allOf", "prefixItems"])
    if (Array.isArray(schema[key])) for (const child of schema[key] as unknown[]) visit(child);
  for (const key of ["items", "additionalProperties"]) visit(schema[key]);
  for (const key of ["properties", "$defs", "definitions"])
    for (const [field, child] of Object.entries((schema[key] ?? {}) as Json))
      if (typeof child === "object" && child !== null && collect(child as Json, field, names)) names.add(field);
  if (isSecret && name !== undefined) names.add(name);
  return isSecret;
}
