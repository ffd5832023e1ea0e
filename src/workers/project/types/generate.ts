import { relative, sep } from "node:path";
import type { Binding } from "../../scripts/script.ts";
import { IDENTIFIER } from "../config/field-types.ts";
import type { Project } from "../project.ts";

export const TYPES_FILE = "worker-configuration.d.ts";

/** Marker in the first line of every file that this program writes. */
export const GENERATED = "by `reelpost types`";

/** A longer literal is not useful, so its type is string. */
const MAX_LITERAL_LENGTH = 200;

/**
 * Returns the text of `worker-configuration.d.ts`: an `Env` with every binding, global and in the namespace that
 * `cloudflare:workers` reads. A variable's type covers its values in all `variants` (the same worker in other
 * environments); a secret is a string.
 */
export function generateTypes(project: Project, variants: readonly Project[] = []): string {
  const unsetSecrets = project.requiredSecrets.filter(
    (name) => !project.bindings.some((binding) => binding.name === name),
  );
  const bindings: Binding[] = [
    ...project.bindings,
    ...unsetSecrets.map((name): Binding => ({ type: "secret_text", name, text: "" })),
  ];
  const members = bindings.map(
    (binding) => `    ${propertyName(binding.name)}: ${typeOf(binding, variants, project)};`,
  );
  const source = relative(project.root, project.configFile).split(sep).join("/");
  return `// Generated from ${source} ${GENERATED}. Do not edit: changes are overwritten.
declare namespace Cloudflare {
  interface Env {
${members.join("\n")}${members.length === 0 ? "" : "\n"}  }
}
interface Env extends Cloudflare.Env {}
`;
}

const propertyName = (name: string) => (IDENTIFIER.test(name) ? name : JSON.stringify(name));

/** Import path of the main module in the generated file. */
const modulePath = ({ root, main }: Project) =>
  `./${relative(root, main)
    .split(sep)
    .join("/")
    .replace(/\.[cm]?[jt]sx?$/, "")}`;

function typeOf(binding: Binding, variants: readonly Project[], project: Project): string {
  switch (binding.type) {
    case "send_email":
      return "SendEmail";
    case "kv_namespace":
      return "KVNamespace";
    case "r2_bucket":
      return "R2Bucket";
    case "d1":
      return "D1Database";
    case "queue":
      return "Queue";
    case "assets":
      return "Fetcher";
    case "stream":
      return "StreamBinding";
    case "version_metadata":
      return "WorkerVersionMetadata";
    case "service":
      return "Fetcher";
    case "durable_object_namespace":
      return binding.script_name === undefined
        ? `DurableObjectNamespace<import(${JSON.stringify(modulePath(project))}).${binding.class_name}>`
        : "DurableObjectNamespace";
    case "analytics_engine":
      return "AnalyticsEngineDataset";
    case "ratelimit":
      return "RateLimit";
    case "secrets_store_secret":
      return "SecretsStoreSecret";
    case "ai":
      return "Ai";
    case "secret_text":
      return "string";
    case "plain_text":
    case "json": {
      const sameNamed = variants.flatMap(({ bindings }) => bindings.filter(({ name }) => name === binding.name));
      return unionOf(
        [binding, ...sameNamed].map((candidate) =>
          candidate.type === "plain_text"
            ? literal(candidate.text)
            : candidate.type === "json"
              ? shapeOf(candidate.json)
              : "string",
        ),
      );
    }
  }
}

const literal = (text: string) => (text.length > MAX_LITERAL_LENGTH ? "string" : JSON.stringify(text));

/** Returns the union of the types. A wide type such as `string` absorbs its literals, which would add nothing. */
function unionOf(types: readonly string[]): string {
  const distinctTypes = [...new Set(types)];
  const wideTypes = distinctTypes.filter((type) => ["string", "number", "boolean"].includes(type));
  const narrowTypes = distinctTypes.filter(
    (type) =>
      !(wideTypes.includes("string") && /^"(?:[^"\\]|\\.)*"$/.test(type)) &&
      !(wideTypes.includes("number") && /^-?\d/.test(type)),
  );
  return narrowTypes.join(" | ");
}

/** Returns the type of a JSON value: literals for single values, a union for the elements of a list. */
function shapeOf(value: unknown, depth = 0): string {
  if (value === null || typeof value === "boolean" || typeof value === "number") return String(value);
  if (typeof value === "string") return literal(value);
  if (depth > 20) return "unknown";
  if (Array.isArray(value)) {
    const element = unionOf(value.map((inner) => shapeOf(inner, depth + 1)));
    return value.length === 0 ? "unknown[]" : `(${element})[]`;
  }
  const fields = Object.entries(value as object).map(
    ([name, inner]) => `${propertyName(name)}: ${shapeOf(inner, depth + 1)}`,
  );
  return fields.length === 0 ? "Record<string, never>" : `{ ${fields.join("; ")} }`;
}
