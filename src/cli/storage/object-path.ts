import { commandErrors } from "../errors.ts";

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
