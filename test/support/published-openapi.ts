import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Ajv as AjvType, ValidateFunction } from "ajv";
import ajvModule from "ajv";
import formatsModule from "ajv-formats";

/**
 * The published API, used to validate responses. Its documents are not part of this project: if they are stored
 * alongside it (or in the directory set in REELPOST_OPENAPI), every response is validated, otherwise only the schemas
 * of the routes themselves are used.
 */
const FOLDER = process.env.REELPOST_OPENAPI ?? join(import.meta.dirname, "../../../shared/contract/openapi");

interface PublishedOpenApi {
  /**
   * Violations in this JSON response; empty if it is valid. Undefined if the operation or the status is not published.
   */
  problems(method: string, path: string, status: number, body: unknown): string[] | undefined;
  /** True if the operation is published. */
  knows(method: string, path: string): boolean;
  /** Returns all operations in a document, in the form "GET /accounts/{account_id}/stream". */
  operations(document: string): string[];
}

const Ajv = ajvModule as unknown as typeof AjvType;
const addFormats = formatsModule as unknown as (ajv: AjvType) => void;

type Json = { [name: string]: Json } & Json[];
interface Operation {
  document: string;
  name: string;
  pattern: RegExp;
  responses: [status: string, pointer: string][];
}

let loaded: PublishedOpenApi | undefined;

export function publishedOpenApi(): PublishedOpenApi | undefined {
  if (!existsSync(FOLDER)) return undefined;
  return (loaded ??= load());
}

function load(): PublishedOpenApi {
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: true, logger: false });
  addFormats(ajv);
  const operations = new Map<string, Operation[]>();
  for (const name of readdirSync(FOLDER).filter((file) => file.endsWith(".json"))) {
    const document = JSON.parse(readFileSync(join(FOLDER, name), "utf8")) as Json;
    modernise(document);
    for (const [schema, fields] of Object.entries(NULL_IN_SAMPLES))
      for (const field of fields) allowNull(propertiesOf(document.components?.schemas?.[schema]?.properties), field);
    for (const schema of NULL_SCHEMAS) {
      const text = document.components?.schemas?.[schema];
      if (text !== undefined) text.type = ["string", "null"] as unknown as Json;
    }
    ajv.addSchema({ $id: name, ...document });
    for (const [path, methods] of Object.entries(document.paths!)) {
      for (const [method, operation] of Object.entries(methods)) {
        if (operation.responses === undefined) continue;
        operations
          .getOrInsertComputed(method, () => [])
          .push({
            document: name,
            name: `${method.toUpperCase()} ${path}`,
            pattern: patternOf(path),
            responses: responsesOf(document, path, method, operation),
          });
      }
    }
  }
  for (const list of operations.values())
    list.sort(
      (a, b) =>
        Number(endsInLiteral(b.pattern)) - Number(endsInLiteral(a.pattern)) ||
        fixedLength(b.pattern) - fixedLength(a.pattern),
    );
  const find = (method: string, path: string) =>
    operations.get(method.toLowerCase())?.find(({ pattern }) => pattern.test(path));
  const compiled = new Map<string, ValidateFunction>();
  return {
    knows: (method, path) => find(method, path) !== undefined,
    operations: (document) =>
      [...operations.values()]
        .flat()
        .filter((operation) => operation.document === document)
        .map(({ name }) => name),
    problems(method, path, status, body) {
      const operation = find(method, path);
      const pointer = operation?.responses.find(
        ([wanted]) => wanted === String(status) || wanted.toUpperCase() === `${Math.floor(status / 100)}XX`,
      )?.[1];
      if (operation === undefined || pointer === undefined) return undefined;
      const key = `${operation.document}#${pointer}`;
      const validate = compiled.getOrInsertComputed(key, () => ajv.compile({ $ref: key }));
      return validate(body)
        ? []
        : (validate.errors ?? []).map(
            ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
          );
    },
  };
}

function responsesOf(document: Json, path: string, method: string, operation: Json): [string, string][] {
  const found: [string, string][] = [];
  for (const [status, response] of Object.entries(operation.responses as Json)) {
    const shared = (response.$ref as unknown as string | undefined)?.slice(1);
    const at = shared ?? ["", "paths", path, method, "responses", status].map(escapePointer).join("/");
    const content = (
      shared === undefined
        ? response
        : shared
            .slice(1)
            .split("/")
            .reduce((node, part) => node[part]!, document)
    ).content;
    const schema = content?.["application/json"]?.schema;
    const named = (schema?.$ref as unknown as string | undefined)
      ?.slice(2)
      .split("/")
      .reduce((node, part) => node[part]!, document);
    // Some error responses are published as a copy of the success response, which is useless for validation.
    if (Number(status[0]) >= 4 && ((named ?? schema)?.properties?.success?.enum?.[0] as unknown) === true) continue;
    if (schema !== undefined) found.push([status, `${at}/content/application~1json/schema`]);
  }
  return found;
}

const escapePointer = (part: string) => encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"));
const patternOf = (path: string) =>
  new RegExp(`^${path.replace(/[.*+?^$()|[\]\\']/g, "\\$&").replace(/\{[^}]+\}/g, "[^/]+")}$`);
/** `/{accounts_or_zones}/{id}/stream/usage` takes precedence over `/accounts/{id}/stream/{identifier}`. */
const endsInLiteral = (pattern: RegExp) => !pattern.source.endsWith("[^/]+$");
const fixedLength = (pattern: RegExp) => pattern.source.replaceAll("[^/]+", "").length;

/** Fields that are published as text or numbers but are null in every sample response while unset. */
const NULL_IN_SAMPLES: Record<string, string[]> = {
  stream_videos: [
    "creator",
    "readyToStreamAt",
    "scheduledDeletion",
    "uploaded",
    "uploadExpiry",
    "maxSizeBytes",
    "maxDurationSeconds",
    "watermark",
    "clippedFrom",
    "liveInput",
  ],
  stream_watermarks: ["downloadedFrom"],
  stream_direct_upload_response: ["watermark", "scheduledDeletion"],
};

/** Texts that are published as never null, but are null in every response of the hosted service while unset. */
const NULL_SCHEMAS = ["dns-records_comment"];

/** Properties of the result, if the schema describes a response envelope. */
const propertiesOf = (properties: Json | undefined): Json | undefined =>
  (properties?.["result"] as Json | undefined)?.properties ?? properties;

function allowNull(properties: Json | undefined, field: string): void {
  if (properties?.[field] !== undefined)
    properties[field] = { anyOf: [{ type: "null" }, properties[field]] } as unknown as Json;
}

/** Converts OpenAPI 3.0 schemas to JSON Schema. */
function modernise(node: Json): void {
  if (node === null || typeof node !== "object") return;
  // Documented as "any type".
  if ((node.type as unknown) === "unknown") delete node.type;
  for (const limit of ["exclusiveMinimum", "exclusiveMaximum"])
    if (typeof node[limit] === "boolean") delete node[limit];
  if ((node.nullable as unknown) === true && node.type === undefined) {
    const { nullable: _, ...rest } = { ...node };
    for (const name of Object.keys(node)) delete node[name];
    Object.assign(node, { anyOf: [{ type: "null" }, rest] });
    modernise((node.anyOf as Json)[1]!);
    return;
  }
  if ((node.nullable as unknown) === true && Array.isArray(node.enum) && !node.enum.includes(null as never))
    node.enum.push(null as never);
  // Published as "an object that is null" in the errors for deleting a DNS record.
  if (Array.isArray(node.enum) && node.enum.length === 1 && (node.enum[0] as unknown) === null)
    for (const word of ["type", "nullable"]) delete node[word];
  // Only documented in prose: when a destination address was verified.
  if (typeof node.type === "string" && /\bNull means\b/.test(String(node.description ?? "")))
    node.type = [node.type, "null"] as never;
  // Error codes are documented as numbers; a few operations publish them as digit strings.
  if (
    Array.isArray(node.enum) &&
    (node.type as unknown) === "string" &&
    node.enum.every((word) => /^\d{5}$/.test(word as unknown as string))
  )
    Object.assign(node, { type: "number", enum: node.enum.map(Number) });
  // A request-only field is not required in a response.
  if (Array.isArray(node.required) && node.properties !== undefined) {
    node.required = node.required.filter(
      (name) => (node.properties![name as unknown as string]?.writeOnly as unknown) !== true,
    ) as Json;
    if (node.required.length === 0) delete node.required;
  }
  for (const child of Object.values(node)) modernise(child);
}
