import { createHash } from "node:crypto";
import { z } from "zod";

export const FORMAT = 1;

const manifestSchema = z.object({
  format: z.number(),
  /** Start time, such as `20261127T024000Z`. */
  id: z.string().regex(/^[0-9A-Za-z-]{1,40}$/),
  /** ISO 8601. Everything that was acknowledged before this time is in the backup. */
  started_on: z.string(),
  finished_on: z.string(),
  /** The version of Reelpost. */
  version: z.string(),
  database: z.enum(["sqlite", "postgres"]),
  migrations: z.array(z.string()),
  /** The age recipients; empty: not encrypted. */
  recipients: z.array(z.string()),
  secrets_key: z.enum(["included", "separate"]),
  /** The bucket with the objects. Absent: the backup contains the objects. */
  objects_url: z.string().optional(),
  files: z.number(),
  /** The size of the data. */
  bytes: z.number(),
  rows: z.number(),
  /** Files, and bytes in the backup folder, that earlier backups did not have. */
  added_files: z.number(),
  added_bytes: z.number(),
  warnings: z.array(z.string()),
  /** Content files that list all files of the backup, in order. */
  lists: z.array(z.string()),
  /** The SHA-256 of the list of contents next to the manifest. */
  contents_sha256: z.string(),
  /** The SHA-256 of this object without this field. */
  checksum: z.string(),
});

export type BackupManifest = z.infer<typeof manifestSchema>;

/** A file of a backup. */
export interface BackupFile {
  /**
   * `objects/…`, `d1/…`, `durable-objects/…`, `rows/<table>/<n>`, `secrets.key` or another path in the data directory.
   */
  path: string;
  size: number;
  /** The hash of the original bytes. */
  sha256: string;
  /** The name in the backup folder. */
  content: string;
}

/** A file in `contents/` of the backup folder. */
export interface StoredContent {
  name: string;
  size: number;
  /** The hash of the stored bytes, which differ from the original bytes if they are encrypted. */
  sha256: string;
}

export function sealManifest(manifest: Omit<BackupManifest, "checksum">): BackupManifest {
  return { ...manifest, checksum: checksumOf(manifest) };
}

/** Returns the reason if the text is not a complete manifest. */
export function readBackupManifest(text: string): BackupManifest | { reason: string; format?: number } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { reason: "its manifest is not JSON" };
  }
  const format = (value as { format?: unknown } | null)?.format;
  if (typeof format === "number" && format > FORMAT) return { reason: "its format is newer", format };
  const { success, data } = manifestSchema.safeParse(value);
  if (!success) return { reason: "its manifest lacks fields" };
  const { checksum, ...rest } = data;
  return checksum === checksumOf(rest) ? data : { reason: "its manifest was changed" };
}

const checksumOf = (manifest: Omit<BackupManifest, "checksum">) =>
  createHash("sha256")
    .update(JSON.stringify(Object.entries(manifest).sort(([a], [b]) => (a < b ? -1 : 1))))
    .digest("hex");
