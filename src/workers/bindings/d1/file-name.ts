import { createHash } from "node:crypto";
import { d1Errors } from "./errors.ts";

/**
 * Returns the file name of a database. The id comes from the configuration: often a UUID, sometimes a plain name,
 * possibly any text. Ids that may not be safe and distinct file names on every file system (case folding, slashes,
 * dots) get a digest appended.
 */
export function databaseFileName(id: string): string {
  if (id.length < 1 || id.length > 128) throw d1Errors.badDatabaseId({ id: JSON.stringify(id.slice(0, 128)) });
  if (/^[a-z0-9][a-z0-9_-]{0,63}$/.test(id)) return `${id}.sqlite`;
  const readableId = id
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, "-")
    .slice(0, 40);
  return `${readableId}.${createHash("sha256").update(id).digest("hex").slice(0, 32)}.sqlite`;
}
