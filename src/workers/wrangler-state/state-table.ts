import { DatabaseSync } from "node:sqlite";

/** A key in wrangler's local KV storage. */
export interface StateEntry {
  key: string;
  blob: string;
  /** Milliseconds since 1970. */
  expiresAt: number | null;
  /** JSON. */
  metadata: string | null;
}

/** An object in wrangler's local R2 storage. */
export interface StateObject {
  key: string;
  /** Ids of the files that make up the object, in order. */
  blobs: string[];
  size: number;
  /** JSON. */
  checksums: string;
  httpMetadata: string;
  customMetadata: string;
}

/** Reads one SQLite file of wrangler's local state. Wrangler may be using it at the same time. */
export function openStateTable(file: string) {
  const db = new DatabaseSync(file, { readOnly: true });

  const count = (table: string) =>
    hasTable(table) ? Number(db.prepare(`select count(*) as n from ${table}`).get()!["n"]) : 0;

  function hasTable(name: string): boolean {
    return db.prepare("select 1 from sqlite_master where type = 'table' and name = ?").get(name) !== undefined;
  }

  return {
    countEntries: () => count("_mf_entries"),
    *entries(): Generator<StateEntry> {
      if (!hasTable("_mf_entries")) return;
      const rows = db.prepare(
        "select key, blob_id as blob, expiration as expiresAt, metadata from _mf_entries order by key",
      );
      for (const row of rows.iterate()) yield row as unknown as StateEntry;
    },
    countObjects: () => count("_mf_objects"),
    *objects(): Generator<StateObject> {
      if (!hasTable("_mf_objects")) return;
      const parts = db.prepare("select blob_id from _mf_multipart_parts where object_key = ? order by part_number");
      const rows = db.prepare(
        "select key, blob_id as blob, size, checksums, http_metadata as httpMetadata, custom_metadata as customMetadata from _mf_objects order by key",
      );
      for (const row of rows.iterate()) {
        const { blob, ...object } = row as unknown as Omit<StateObject, "blobs"> & { blob: string | null };
        const blobs = blob === null ? parts.all(object.key).map((part) => String(part["blob_id"])) : [blob];
        yield { ...object, blobs };
      }
    },
    /** Returns the number of tables created by the user. */
    countTables: () =>
      Number(
        db
          .prepare(
            "select count(*) as n from sqlite_master where type = 'table' and substr(name, 1, 7) <> 'sqlite_' and lower(substr(name, 1, 4)) <> '_cf_'",
          )
          .get()!["n"],
      ),
    close: () => db.close(),
  };
}
