import { kvErrors, kvLimits } from "../../../workers/index.ts";

/** Reads the parts `value` and `metadata` of a multipart write. */
export async function readValueForm(form: FormData): Promise<{ value: Uint8Array; metadata: string | undefined }> {
  const value = form.get("value");
  if (value === null) throw kvErrors.noValuePart();
  return { value: await bytesOf(value), metadata: await metadataOf(form) };
}

const bytesOf = async (part: File | string) =>
  typeof part === "string" ? Buffer.from(part) : new Uint8Array(await part.arrayBuffer());

/** Reads the metadata: either one JSON part, or `metadata[name]` parts, as clients send an object. */
async function metadataOf(form: FormData): Promise<string | undefined> {
  const metadataPart = form.get("metadata");
  if (metadataPart !== null) {
    const json = Buffer.from(await bytesOf(metadataPart)).toString();
    return json.trim() === "" ? undefined : json;
  }
  const fields = [...form].flatMap(([name, part]) =>
    typeof part === "string" && name.startsWith("metadata[") ? [{ name, part }] : [],
  );
  // Checked before parsing: each bracket in a name becomes a level of JSON, and a name may contain millions of them.
  const length = Math.max(0, ...fields.map(({ name }) => name.length - "metadata".length));
  if (length > kvLimits.metadataBytes) throw kvErrors.metadataTooLong({ length, limit: kvLimits.metadataBytes });
  const parts = fields
    .filter(({ name }) => /^metadata(\[[^[\]]*\])+$/.test(name))
    .map(({ name, part }) => ({ path: name.slice("metadata[".length, -1).split("]["), part }));
  return parts.length === 0 ? undefined : JSON.stringify(assemble(parts, 0));
}

type Tree = string | Tree[] | { [name: string]: Tree };

function assemble(parts: { path: string[]; part: string }[], depth: number): Tree {
  if (parts[0]!.path.length === depth) return parts[0]!.part;
  if (parts.every(({ path }) => path[depth] === "")) return parts.map((part) => assemble([part], depth + 1));
  return Object.fromEntries(
    [...Map.groupBy(parts, ({ path }) => path[depth]!)].map(([name, group]) => [name, assemble(group, depth + 1)]),
  );
}
