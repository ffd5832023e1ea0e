import { utcDay } from "../../kernel/index.ts";
import type { PortableValue } from "../../store/index.ts";
import type { FindingKind, RowReference } from "./finding.ts";

/** An object that a row needs. */
export interface Reference {
  /** The object key. */
  key: string;
  /** Size in bytes; undefined if the row does not contain it. */
  size?: number | undefined;
  kind: FindingKind;
  /** Description of the row, such as `KV key "a" of namespace 1`. */
  subject: string;
  row?: RowReference;
}

export type Row = Record<string, PortableValue>;

const text = (value: PortableValue | undefined): string => String(value);
const number = (value: PortableValue | undefined): number | undefined =>
  typeof value === "number" ? value : undefined;
const bytes = (value: PortableValue | undefined): Buffer =>
  Buffer.from(value !== null && typeof value === "object" && "b" in value ? value.b : "", "base64");

const keyed = (table: string, row: Row, columns: readonly string[]): RowReference => ({
  table,
  key: Object.fromEntries(
    columns.map((column) => {
      const value = row[column]!;
      return [column, typeof value === "object" ? bytes(value) : value];
    }),
  ),
});

/**
 * The objects that each row needs, by table. The domains that own the tables define the keys; drills/backup.drill.ts
 * and the test of the check use real rows.
 */
const REFERENCES: Record<string, (row: Row) => Reference[]> = {
  kv_entries: (row) =>
    row["object_key"] === null
      ? []
      : [
          {
            kind: "kv_value",
            key: text(row["object_key"]),
            size: number(row["size"]),
            subject: `KV key ${JSON.stringify(bytes(row["key"]).toString())} of namespace ${text(row["namespace_id"])}`,
            row: keyed("kv_entries", row, ["namespace_id", "key"]),
          },
        ],
  r2_objects: (row) =>
    row["upload_id"] !== null
      ? []
      : [
          {
            kind: "r2_object",
            key: `r2/${text(row["bucket"])}/${text(row["version"])}`,
            size: number(row["size"]),
            subject: `R2 object ${JSON.stringify(row["key"])} of the bucket ${text(row["bucket"])}`,
            row: keyed("r2_objects", row, ["bucket", "key"]),
          },
        ],
  worker_modules: (row) => [
    {
      kind: "worker_module",
      key: text(row["object_key"]),
      size: number(row["size"]),
      subject: `module ${text(row["name"])} of the version ${text(row["version_id"])}`,
    },
  ],
  worker_asset_files: (row) => [
    {
      kind: "worker_asset",
      key: text(row["object_key"]),
      size: number(row["size"]),
      subject: `asset with the hash ${text(row["hash"])}`,
      row: keyed("worker_asset_files", row, ["account_id", "hash"]),
    },
  ],
  outbound_messages: (row) =>
    row["body_in"] !== "objects"
      ? []
      : [
          {
            kind: "queued_message",
            key: `mail/out/${utcDay(Number(row["created_at"]))}/${text(row["id"])}.eml`,
            subject: `queued message ${text(row["id"])}`,
          },
        ],
  inbox_messages: (row) =>
    row["raw"] !== null
      ? []
      : [
          {
            kind: "inbox_message",
            key: `mail/inbox/${text(row["id"])}.eml`,
            size: number(row["size"]),
            subject: `message ${text(row["id"])} in the inbox`,
            row: keyed("inbox_messages", row, ["id"]),
          },
        ],
  stream_videos: (row) =>
    row["source_key"] === null
      ? []
      : [{ kind: "video_source", key: text(row["source_key"]), subject: `source of the video ${text(row["uid"])}` }],
  stream_captions: (row) =>
    row["status"] !== "ready" || row["object_key"] === null
      ? []
      : [
          {
            kind: "caption",
            key: text(row["object_key"]),
            subject: `captions ${text(row["language"])} of the video ${text(row["video_uid"])}`,
            row: keyed("stream_captions", row, ["video_uid", "language"]),
          },
        ],
  stream_watermarks: (row) =>
    row["deleted_at"] !== null
      ? []
      : [
          {
            kind: "watermark",
            key: watermarkKeyOf(row),
            size: number(row["size"]),
            subject: `watermark profile ${text(row["uid"])}`,
          },
        ],
  stream_live_segments: (row) =>
    Object.keys(JSON.parse(text(row["durations"])) as object).map((rendition) => ({
      kind: "live_segment",
      key: liveSegmentKeyOf(row, rendition),
      subject: `segment ${text(row["n"])} (${rendition}) of the recording ${text(row["video_uid"])}`,
    })),
};

const watermarkKeyOf = (row: Row): string => text(row["object_key"] ?? `stream-watermarks/${text(row["uid"])}.png`);

/** Segments written by earlier versions have no writer. */
function liveSegmentKeyOf(row: Row, rendition: string): string {
  const folder = `stream/${text(row["video_uid"])}/live`;
  return row["writer"] == null
    ? `${folder}/${rendition}/${text(row["n"])}.m4s`
    : `${folder}/${text(row["run_id"])}/${rendition}/${text(row["n"])}-${text(row["writer"])}.m4s`;
}

/** File names of downloads by type. */
const DOWNLOAD_NAMES: Record<string, string> = { default: "default.mp4", audio: "audio.m4a" };

/** Collects what the rows of a database refer to. */
export function createReferences() {
  const references = new Map<string, Reference>();
  const buckets = new Map<string, string>();
  const parts: Row[] = [];
  /** Key prefixes of objects that belong to a row although the row does not need them. */
  const owned = new Set<string>();
  const databases = new Set<string>();
  const marks = new Map<string, string>();
  let accounts = 0;

  function add(table: string, row: Row) {
    for (const reference of REFERENCES[table]?.(row) ?? []) references.set(reference.key, reference);
    if (table === "r2_parts") parts.push(row);
    if ((table === "r2_objects" || table === "r2_uploads") && row["upload_id"] !== null)
      buckets.set(text(row["upload_id"]), text(row["bucket"]));
    // The bucket's data is about to be deleted.
    if (table === "r2_removed") owned.add(`r2/${text(row["bucket"])}/${text(row["blob"])}`);
    if (table === "stream_videos" || table === "stream_deletions") owned.add(`stream/${text(row["uid"])}`);
    if (table === "stream_watermarks") owned.add(watermarkKeyOf(row));
    if (table === "d1_databases") databases.add(`${text(row["id"])}.sqlite`);
    if (table === "server_marks") marks.set(text(row["name"]), text(row["value"]));
    if (table === "accounts") accounts++;
    if (table === "stream_downloads" && row["status"] === "ready") {
      const name = DOWNLOAD_NAMES[text(row["type"])];
      const key = `stream/${text(row["video_uid"])}/downloads/${text(row["build"])}-${name}`;
      if (name !== undefined)
        references.set(key, {
          kind: "download",
          key,
          subject: `download (${text(row["type"])}) of the video ${text(row["video_uid"])}`,
          row: keyed("stream_downloads", row, ["video_uid", "type"]),
        });
    }
  }

  return {
    add,
    /** Call it after the last row. */
    complete() {
      for (const row of parts) {
        const bucket = buckets.get(text(row["upload_id"]));
        if (bucket === undefined) continue;
        const key = `r2/${bucket}/${text(row["blob"])}`;
        references.set(key, {
          kind: "r2_part",
          key,
          size: number(row["size"]),
          subject: `part ${text(row["part_number"])} of the upload ${text(row["upload_id"])} to the bucket ${bucket}`,
        });
      }
      return { references, databases, marks, hasAccounts: accounts > 0, isOwned };
    },
  };

  /** True if a row refers to the object, or if this check does not know its owner. */
  function isOwned(key: string): boolean {
    if (references.has(key) || owned.has(key)) return true;
    const [area, name] = key.split("/") as [string, string];
    if (area === "stream") return owned.has(`stream/${name}`);
    return (
      !["kv", "r2", "modules", "assets", "stream-watermarks"].includes(area) && !/^mail\/(?:out|inbox)\//.test(key)
    );
  }
}
