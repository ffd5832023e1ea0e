/** A discrepancy between rows and files. */
export interface DataFinding {
  kind: FindingKind;
  /** The affected row, or a path in the data directory. */
  subject: string;
  /** The sizes that differ, or the reason. */
  problem: string;
  /** For repairs: the row and the file. */
  row?: RowReference;
  file?: string;
}

export interface RowReference {
  table: string;
  /** The primary key. */
  key: Record<string, string | number | Uint8Array>;
}

export type FindingKind = keyof typeof FINDINGS;

interface Explanation {
  /** False if only disk space is affected. */
  isDamage: boolean;
  effect: string;
  /** The action of `--repair`; undefined if there is none. */
  repair?: string;
  /** For findings without a repair. */
  advice?: string;
}

const RESTORE = "Restore it from a backup.";

/** Explains each kind of finding. */
const FINDINGS = {
  database: {
    isDamage: true,
    effect: "Rows may be unreadable, and the server may fail at any time.",
    advice: "Restore the newest backup into an empty data directory.",
  },
  secrets_key: {
    isDamage: true,
    effect: "The server does not start, because it cannot decrypt any secret.",
    advice: "Restore the file secrets.key of this data directory, or set the secrets.key setting.",
  },
  other_objects: {
    isDamage: true,
    effect: "The server does not start, because the objects belong to another database.",
    advice: "Set objects.dir or objects.url to the objects that belong to this database.",
  },
  kv_value: {
    isDamage: true,
    effect: "Workers cannot read the value of this key.",
    repair: "delete the key",
  },
  r2_object: {
    isDamage: true,
    effect: "Clients cannot read the object.",
    repair: "delete the object",
  },
  r2_part: {
    isDamage: true,
    effect: "Clients cannot read a part of the object, or cannot complete the upload.",
    advice: "Delete the object, or abort the upload.",
  },
  worker_module: {
    isDamage: true,
    effect: "This version of the worker does not start.",
    advice: "Deploy the worker again.",
  },
  worker_asset: {
    isDamage: true,
    effect: "Requests for the asset fail.",
    repair: "delete the record of the asset, so that the next deploy uploads it again",
  },
  d1_database: {
    isDamage: true,
    effect: "Queries to this database may fail or return wrong results.",
    repair: "rebuild its indexes",
    advice: RESTORE,
  },
  durable_object: {
    isDamage: true,
    effect: "The Durable Object may fail or return wrong results.",
    advice: RESTORE,
  },
  queued_message: {
    isDamage: true,
    effect: "The message in the outbound queue cannot be delivered.",
    advice: "Restore the file from a backup, or cancel the message: reelpost email queue cancel.",
  },
  inbox_message: {
    isDamage: true,
    effect: "The content of the message in the inbox cannot be shown.",
    repair: "delete the message from the inbox",
  },
  video_source: {
    isDamage: true,
    effect: "Segments and downloads that are not stored yet cannot be encoded.",
    advice: "Restore the file from a backup, or upload the video again.",
  },
  video_segment: {
    isDamage: true,
    effect: "Viewers receive an empty segment.",
    repair: "delete the segment, which is encoded again on request",
  },
  live_segment: {
    isDamage: true,
    effect: "The recording has a gap.",
    advice: RESTORE,
  },
  caption: {
    isDamage: true,
    effect: "The captions in this language cannot be shown.",
    repair: "delete the captions of this language",
  },
  download: {
    isDamage: true,
    effect: "The download fails.",
    repair: "delete the download, which can be created again",
  },
  watermark: {
    isDamage: true,
    effect: "Videos with this watermark profile cannot be encoded.",
    advice: "Delete the profile and create it again.",
  },
  orphan: {
    isDamage: false,
    effect: "No row refers to the file, which only takes up space.",
    repair: "move the file to removed/ in the data directory",
  },
  orphan_database: {
    isDamage: false,
    effect: "No D1 database uses this file; it only takes up space.",
    repair: "move the file to removed/ in the data directory",
  },
} satisfies Record<string, Explanation>;

export const explain = (kind: FindingKind): Explanation => FINDINGS[kind];
