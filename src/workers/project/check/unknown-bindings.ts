import { readFile, stat } from "node:fs/promises";
import { basename } from "node:path";
import { type Problem, nearestName, warningAt } from "../../../kernel/config/index.ts";
import type { Project } from "../project.ts";
import { type EnvUse, findEnvUses } from "./env-uses.ts";

/** Sources above these limits are generated code, for which warnings would be ignored. */
const MAX_SOURCES = 500;
const MAX_SOURCE_LENGTH = 512 * 1024;

/**
 * Resolves with every position where the project's own sources read a name from env that is undeclared or not
 * supported.
 */
export async function findUnknownBindings(project: Project, sources: readonly string[]): Promise<EnvUse[]> {
  const declaredNames = new Set([...project.bindings.map(({ name }) => name), ...project.requiredSecrets]);
  const uses = await Promise.all(
    sources.slice(0, MAX_SOURCES).map(async (file) => {
      const size = await stat(file).then(
        (fileStats) => fileStats.size,
        () => Infinity,
      );
      return size > MAX_SOURCE_LENGTH ? [] : findEnvUses(file, await readFile(file, "utf8").catch(() => ""));
    }),
  );
  return uses.flat().filter(({ name }) => !declaredNames.has(name));
}

/** Returns one warning per name, at its first use. */
export function unknownBindingProblems(project: Project, uses: readonly EnvUse[]): Problem[] {
  // The configuration has its own warning about bindings that are not supported.
  const unsupportedNames = new Set(project.missingBindings.map(({ name }) => name));
  const byName = Map.groupBy(
    uses.filter(({ name }) => !unsupportedNames.has(name)),
    ({ name }) => name,
  );
  return [...byName.values()].map((places): Problem => {
    const { name, file, line, column } = places[0]!;
    const morePlacesText =
      places.length === 1 ? "" : `, here and in ${places.length - 1} other place${places.length === 2 ? "" : "s"}`;
    const message = `Binding not found: the code reads env.${name}${morePlacesText}, but the configuration does not declare "${name}"`;
    return warningAt(
      { file, line, column },
      message,
      declarationHint(
        project,
        name,
        places.flatMap(({ members }) => members),
      ),
    );
  });
}

/** Returns the nearest declared name, and the entry to add to the configuration. */
export function declarationHint(project: Project, name: string, members: readonly string[]): string {
  const similarName = nearestName(
    name,
    project.bindings.map((binding) => binding.name),
  );
  const snippet = snippetFor(project, name, members);
  return similarName === undefined ? snippet : `did you mean env.${similarName}? Otherwise ${snippet}`;
}

type Field =
  | "send_email"
  | "stream"
  | "kv_namespaces"
  | "r2_buckets"
  | "d1_databases"
  | "queues"
  | "durable_objects"
  | "analytics_engine_datasets";
const METHODS: [field: Field, methods: RegExp][] = [
  ["queues", /^sendBatch$/],
  ["durable_objects", /^(idFromName|idFromString|newUniqueId|getByName|jurisdiction)$/],
  ["send_email", /^send$/],
  ["stream", /^(upload|createDirectUpload|video|videos|watermarks)$/],
  ["d1_databases", /^(prepare|batch|exec|dump|withSession)$/],
  ["r2_buckets", /^(head|createMultipartUpload|resumeMultipartUpload)$/],
  ["analytics_engine_datasets", /^writeDataPoint$/],
  ["kv_namespaces", /^(getWithMetadata|get|put|list|delete)$/],
];

/** Fields that contain their bindings in a nested list, with the name of the list. */
const LIST_FIELDS: Partial<Record<Field, string>> = { queues: "producers", durable_objects: "bindings" };

/** Methods of bindings that are not supported. */
const UNSUPPORTED_METHODS: [product: string, methods: RegExp][] = [["Vectorize", /^(upsert|query|getByIds)$/]];

function snippetFor(project: Project, name: string, members: readonly string[]): string {
  const product = UNSUPPORTED_METHODS.find(([, methods]) => members.some((member) => methods.test(member)))?.[0];
  if (product !== undefined)
    return `check that env.${name} exists before using it: it looks like a binding of ${product}, which reelpost does not support`;
  const file = basename(project.configFile);
  // get, put, list and delete are common to KV and R2; the name often distinguishes the two.
  const field: Field | undefined = /bucket|r2/i.test(name)
    ? "r2_buckets"
    : METHODS.find(([, methods]) => members.some((member) => methods.test(member)))?.[0];
  const isToml = file.endsWith(".toml");
  if (field === undefined)
    return `${isToml ? `add to ${file}, under [vars]: ${name} = "…"` : `add to "vars" in ${file}: "${name}": "…"`}; or, for a secret, to .dev.vars: ${name}=…`;
  const id = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  const entries = {
    send_email: { name },
    stream: { binding: name },
    kv_namespaces: { binding: name, id },
    r2_buckets: { binding: name, bucket_name: id },
    d1_databases: { binding: name, database_id: id },
    analytics_engine_datasets: { binding: name, dataset: id },
    queues: { binding: name, queue: id },
    durable_objects: { name, class_name: classNameOf(name) },
  };
  const pairs = Object.entries(entries[field]);
  const isSingle = field === "stream";
  const listField = LIST_FIELDS[field];
  if (isToml)
    return `add to ${file}:\n${isSingle ? `[${field}]` : `[[${listField === undefined ? field : `${field}.${listField}`}]]`}\n${pairs.map(([key, value]) => `${key} = "${value}"`).join("\n")}`;
  const object = `{ ${pairs.map(([key, value]) => `"${key}": "${value}"`).join(", ")} }`;
  if (listField !== undefined) return `add to ${file}:\n"${field}": { "${listField}": [${object}] }`;
  return `add to ${file}:\n"${field}": ${isSingle ? object : `[${object}]`}`;
}

/** CHAT_ROOM -> ChatRoom. */
const classNameOf = (name: string) =>
  name
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");
