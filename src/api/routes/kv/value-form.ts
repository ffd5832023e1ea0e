import { kvErrors } from "../../../workers/index.ts";

/** The parts `value` and `metadata` of a multipart write. */
export async function readValueForm(form: FormData): Promise<{ value: Uint8Array; metadata: string | undefined }> {
  const value = form.get("value");
  if (value === null) throw kvErrors.noValuePart();
  return { value: await bytesOf(value), metadata: await metadataOf(form) };
}

const bytesOf = async (part: File | string) => (typeof part === "string" ? Buffer.from(part) : new Uint8Array(await part.arrayBuffer()));

/** As one part of JSON, or taken apart into `metadata[name]` parts, as clients do that were given an object. */
async function metadataOf(form: FormData): Promise<string | undefined> {
  const whole = form.get("metadata");
  if (whole !== null) {
    const json = Buffer.from(await bytesOf(whole)).toString();
    return json.trim() === "" ? undefined : json;
  }
  const parts = [...form].flatMap(([name, part]) => (typeof part === "string" && /^metadata(\[[^[\]]*\])+$/.test(name) ? [{ path: name.slice("metadata[".length, -1).split("]["), part }] : []));
  return parts.length === 0 ? undefined : JSON.stringify(assemble(parts));
}

type Tree = string | Tree[] | { [name: string]: Tree };

function assemble(parts: { path: string[]; part: string }[]): Tree {
  if (parts[0]!.path.length === 0) return parts[0]!.part;
  const inside = (group: typeof parts) => assemble(group.map(({ path, part }) => ({ path: path.slice(1), part })));
  if (parts.every(({ path }) => path[0] === "")) return parts.map((part) => inside([part]));
  return Object.fromEntries([...Map.groupBy(parts, ({ path }) => path[0]!)].map(([name, group]) => [name, inside(group)]));
}
