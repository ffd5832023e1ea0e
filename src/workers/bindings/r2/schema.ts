import type { Selectable } from "kysely";

/** Times are epoch milliseconds; metadata and checksums are JSON. */
export interface R2Tables {
  /** The current object of each key of each bucket. */
  r2_objects: {
    bucket: string;
    key: string;
    /** Also the name of its bytes in the object store, unless `upload_id` is set. */
    version: string;
    size: number;
    etag: string;
    uploaded: number;
    storage_class: string;
    checksums: string;
    http_metadata: string;
    custom_metadata: string;
    /** For a multipart object: its bytes are the parts of this upload, in order of their numbers. */
    upload_id: string | null;
    /** The size of every part except the last, which may be smaller. */
    part_size: number | null;
  };
  /** A completed or aborted upload is remembered for a while, so that aborting it again is not an error. */
  r2_uploads: {
    upload_id: string;
    bucket: string;
    key: string;
    state: "open" | "completed" | "aborted";
    /** When it entered this state. */
    since: number;
    storage_class: string;
    http_metadata: string;
    custom_metadata: string;
  };
  /** The parts of open uploads and of multipart objects. */
  r2_parts: {
    upload_id: string;
    part_number: number;
    /** The name of its bytes in the object store. */
    blob: string;
    size: number;
    md5: string;
    /** Null for parts that were uploaded before this time was recorded. */
    uploaded: number | null;
  };
  /** Unreferenced bytes that are still to be deleted. Written in the transaction that dropped the reference. */
  r2_removed: {
    blob: string;
    bucket: string;
    /** The former owner of the bytes: see `blobOwner()`. */
    owner: string;
    since: number;
  };
}

export type ObjectRow = Selectable<R2Tables["r2_objects"]>;
export type MultipartUploadRow = Selectable<R2Tables["r2_uploads"]>;
export type PartRow = Selectable<R2Tables["r2_parts"]>;

/** Returns the name that readers and removals share: the version of a plain object, the upload of a multipart one. */
export const blobOwner = ({ version, upload_id }: { version: string; upload_id: string | null }) =>
  upload_id ?? version;
