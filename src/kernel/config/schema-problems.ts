import type { z } from "zod";
import type { ConfigDocument } from "./document.ts";
import { nearestName, suggestion } from "./nearest.ts";
import { type Path, type Problem, errorAt, warningAt } from "./problems.ts";

/** Field metadata set with `.meta({ … })`, besides its description. */
export interface FieldMeta {
  description?: string;
  /** A valid value, used in fixes and generated examples. */
  example?: unknown;
  /** The fix for an invalid value, if "write it as <example>" does not help. */
  fix?: string;
}

interface Checked<T> {
  /** Undefined if there are errors. */
  value: T | undefined;
  problems: Problem[];
}

/**
 * Validates a document against a strict schema and reports all problems together: an invalid value is an error; an
 * unknown field causes a warning with the closest known name, and is removed from the value. In a generated file, an
 * empty unknown field causes no warning: generators write every field that they know.
 */
export function checkDocument<S extends z.ZodType>(
  document: ConfigDocument,
  schema: S,
  { isGenerated = false }: { isGenerated?: boolean } = {},
): Checked<z.output<S>> {
  const value = structuredClone(toPlainObjects(document.value));
  const first = schema.safeParse(value);
  if (first.success) return { value: first.data, problems: [] };
  const issues = first.error.issues;
  const isHarmless = (issue: z.core.$ZodIssue, name: string) =>
    isGenerated && isEmpty(valueAt(document.value, [...(issue.path as Path), name]));
  const problems = issues.flatMap((issue) =>
    issue.code === "unrecognized_keys"
      ? issue.keys
          .filter((name) => !isHarmless(issue, name))
          .map((name) => unknownField([...(issue.path as Path), name], document, schema))
      : [invalidValue(issue, document, schema)],
  );
  for (const issue of issues) if (issue.code === "unrecognized_keys") drop(value, issue.path as Path, issue.keys);
  const recheck = schema.safeParse(value);
  return { value: recheck.success ? recheck.data : undefined, problems };
}

function invalidValue(issue: z.core.$ZodIssue, document: ConfigDocument, schema: z.ZodType): Problem {
  const path = issue.path as Path;
  const input = valueAt(document.value, path);
  const { message, fix } = describeIssue(issue, path, input, metaAt(schema, path));
  return errorAt(document.locate(path), message, fix);
}

/** True for {}, [], and objects that contain only such values: `"queues": { "producers": [] }` requests nothing. */
export function isEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === "object" && value !== null && Object.values(value).every(isEmpty);
}

function unknownField(path: Path, document: ConfigDocument, schema: z.ZodType): Problem {
  const name = String(path.at(-1));
  const around = unwrap(schemaAt(schema, path.slice(0, -1)));
  const knownFields = around?.def.type === "object" ? Object.keys((around as z.ZodObject).shape) : [];
  return warningAt(
    document.locate(path, "name"),
    `unknown field "${fieldName(path)}"; it is ignored`,
    suggestion(name, knownFields) ?? "remove it",
  );
}

function describeIssue(
  issue: z.core.$ZodIssue,
  path: Path,
  input: unknown,
  meta: FieldMeta,
): { message: string; fix?: string } {
  const name = path.length === 0 ? "the configuration" : `"${fieldName(path)}"`;
  const example = meta.example === undefined ? undefined : JSON.stringify(meta.example);
  const fix = meta.fix ?? (example === undefined ? undefined : `for example ${example}`);
  const withFix = (message: string, suggestedFix = fix) =>
    suggestedFix === undefined ? { message } : { message, fix: suggestedFix };
  switch (issue.code) {
    case "invalid_type":
      if (input === undefined)
        return withFix(`${name} is missing`, example === undefined ? meta.fix : `add "${path.at(-1)}": ${example}`);
      return withFix(
        `${name} should be ${KINDS[issue.expected] ?? `a ${issue.expected}`}, but is ${kindOf(input)}`,
        example === undefined ? meta.fix : `for example ${example}`,
      );
    case "invalid_value":
      return withFix(
        `${name} should be one of ${issue.values.map((value) => JSON.stringify(value)).join(", ")}, but is ${showValue(input)}`,
        didYouMean(input, issue.values) ?? fix,
      );
    case "too_small":
      return withFix(
        `${name} ${issue.origin === "string" || issue.origin === "array" ? "is too short" : `should be at least ${issue.minimum}, but is ${showValue(input)}`}`,
      );
    case "too_big":
      return withFix(
        `${name} ${issue.origin === "string" || issue.origin === "array" ? `is longer than ${issue.maximum}` : `should be at most ${issue.maximum}, but is ${showValue(input)}`}`,
      );
    case "invalid_format":
      return withFix(
        `${name} is not ${meta.description === undefined ? "well formed" : article(meta.description)}: ${showValue(input)}`,
      );
    case "invalid_key":
      return withFix(`${name} is not a valid name`);
    default:
      return withFix(`${name} ${issue.message}`);
  }
}

function didYouMean(input: unknown, values: readonly unknown[]): string | undefined {
  const near = typeof input === "string" ? nearestName(input, values.map(String)) : undefined;
  return near === undefined ? undefined : `did you mean "${near}"?`;
}

const KINDS: Record<string, string> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list: [ … ]",
  object: "an object: { … }",
  record: "an object: { … }",
};

/** Describes a value in the user's terms: "the number 5", "a list". Long text is truncated. */
function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "string") return `the string ${showValue(value)}`;
  if (typeof value === "object") return "an object";
  return typeof value === "boolean" ? String(value) : `the ${typeof value} ${String(value)}`;
}

function showValue(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

const article = (words: string) =>
  /^(an?|the) /.test(words) ? words : `${/^[aeiou]/i.test(words) ? "an" : "a"} ${words}`;

/** `send_email[0].name` */
export function fieldName(path: Path): string {
  return path.reduce<string>(
    (text, part) => (typeof part === "number" ? `${text}[${part}]` : text === "" ? part : `${text}.${part}`),
    "",
  );
}

export function valueAt(value: unknown, path: Path): unknown {
  let inner = value;
  for (const part of path) {
    if (typeof inner !== "object" || inner === null || !Object.hasOwn(inner, part)) return undefined;
    inner = (inner as Record<string | number, unknown>)[part];
  }
  return inner;
}

/** Returns the field schema at `path`, including its wrappers (optional, default). */
function schemaAt(schema: z.ZodType, path: Path): z.ZodType | undefined {
  let inner: z.ZodType | undefined = schema;
  for (const part of path) {
    const unwrapped = unwrap(inner);
    const def = unwrapped?.def as
      | { type: string; shape?: Record<string, z.ZodType>; element?: z.ZodType; valueType?: z.ZodType }
      | undefined;
    inner = def?.type === "object" ? def.shape?.[part] : def?.type === "array" ? def.element : def?.valueType;
    if (inner === undefined) return undefined;
  }
  return inner;
}

/** Returns the schema without optional, default and other wrappers. */
export function unwrap(schema: z.ZodType | undefined): z.ZodType | undefined {
  let inner = schema;
  while (inner !== undefined) {
    const next = (inner.def as { innerType?: z.ZodType }).innerType;
    if (next === undefined) return inner;
    inner = next;
  }
  return inner;
}

export function metaAt(schema: z.ZodType, path: Path): FieldMeta {
  const outer = schemaAt(schema, path);
  return { ...(unwrap(outer)?.meta() as FieldMeta | undefined), ...(outer?.meta() as FieldMeta | undefined) };
}

function drop(value: unknown, path: Path, names: string[]) {
  const around = valueAt(value, path);
  if (typeof around === "object" && around !== null) for (const name of names) Reflect.deleteProperty(around, name);
}

/** jsonc-parser creates objects without a prototype; structuredClone and zod require ordinary ones. */
function toPlainObjects(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toPlainObjects);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, toPlainObjects(inner)]));
}
