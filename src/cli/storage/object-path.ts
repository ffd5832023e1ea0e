import type { ApiConnection } from "../api/connect.ts";
import { at, objectPath } from "../api/paths.ts";
import type { CommandContext } from "../command.ts";
import { commandErrors } from "../errors.ts";
import type { StorageValues } from "../shared-options.ts";
import { connectStorage } from "../worker-of.ts";

export const objectArgument = {
  name: "bucket/key",
  summary: "bucket and object key, separated by a slash",
  required: true,
} as const;

export function splitObject(path: string): { bucket: string; key: string } {
  const [, bucket, key] = /^([^/]+)\/(.+)$/s.exec(path) ?? [];
  if (bucket === undefined)
    throw commandErrors.badContent({
      what: path,
      reason: "it does not specify an object",
      fix: "Use the form <bucket>/<key>, for example files/reports/2026.pdf",
    });
  return { bucket, key: key! };
}

/**
 * Resolves with the connection, and the API path of the object. With `--local`, the bucket may also be specified by its
 * binding.
 */
export async function connectObject(
  path: string,
  values: StorageValues,
  context: CommandContext,
): Promise<ApiConnection & { apiPath: string }> {
  const { bucket, key } = splitObject(path);
  const { target, ...connection } = await connectStorage(values, context);
  const configuredBucket = target?.r2Buckets.find(({ name, binding }) => name === bucket || binding === bucket);
  const bucketId = values.local === true ? (configuredBucket?.localId ?? bucket) : bucket;
  return { ...connection, apiPath: `${connection.base}/r2/buckets${at`/${bucketId}`}/objects/${objectPath(key)}` };
}

/** Keys are untrusted: only a plain name may become a file name without being requested. */
export function fileNameOf(key: string): string {
  const name = key.split("/").at(-1)!;
  if (name === "" || name === "." || name === ".." || /[\\\0]/.test(name))
    throw commandErrors.badContent({
      what: key,
      reason: "its last part is not a file name",
      fix: "Specify the target with --file.",
    });
  return name;
}
