import type { Selectable } from "kysely";

/** Times are epoch milliseconds; metadata and checksums are JSON. */
export interface R2Tables {
  /** What each key of each bucket holds now. */
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
    /** A multipart object: its bytes are the parts of this upload, in the order of their numbers. */
    upload_id: string | null;
    /** The size of every part but the last, which is smaller or equal. */
    part_size: number | null;
  };
  /** A finished upload is remembered for a while, so that aborting it again is no error. */
  r2_uploads: {
    upload_id: string;
    bucket: string;
    key: string;
    state: "open" | "completed" | "aborted";
    /** When it came into this state. */
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
  };
  /** Bytes that nothing wants any more and that are still to be deleted. Written in the transaction that let go of them. */
  r2_removed: {
    blob: string;
    bucket: string;
    /** Whose bytes they were: see `ownerOf()`. */
    owner: string;
    since: number;
  };
}

export type ObjectRow = Selectable<R2Tables["r2_objects"]>;
export type UploadRow = Selectable<R2Tables["r2_uploads"]>;
export type PartRow = Selectable<R2Tables["r2_parts"]>;

/** Readers and removals meet under this name: the version of a plain object, the upload of a multipart one. */
export const ownerOf = ({ version, upload_id }: { version: string; upload_id: string | null }) => upload_id ?? version;
