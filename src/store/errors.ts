import { defineErrors, UserError } from "../kernel/index.ts";

/** What can go wrong where things are kept. `E_STORE_*` codes; the machine's own error rides along as `cause`. */
export const storeErrors = defineErrors("store", {
  notADatabase: {
    code: "E_STORE_NOT_A_DATABASE",
    http: 500,
    message: "{path} is not a SQLite database, or it is damaged",
    fix: "Point the data directory elsewhere, or restore this file from a backup.",
  },
  cannotOpen: {
    code: "E_STORE_CANNOT_OPEN",
    http: 500,
    message: "cannot open {path}: {reason}",
    fix: "Check that the folder exists and that this user may read and write it.",
  },
  notDurable: {
    code: "E_STORE_NOT_DURABLE",
    http: 500,
    message: "{path} does not keep what it acknowledges: {setting} is {found}, {wanted} is needed",
    fix: "Keep the database on a local file system; network shares do not support what SQLite needs.",
  },
  databaseNewer: {
    code: "E_STORE_DATABASE_NEWER",
    http: 500,
    message: "the database was written by a newer version of this program (it knows {unknown}, this version does not)",
    fix: "Run the newer version again, or restore a backup made before the upgrade.",
  },
  unreachable: {
    code: "E_STORE_UNREACHABLE",
    http: 503,
    smtp: 451,
    enhanced: "4.3.0",
    message: "the database at {address} does not answer: {reason}",
    fix: "Check that PostgreSQL runs there and that the address, user and password in the database URL are right.",
  },
  busy: {
    code: "E_STORE_BUSY",
    http: 503,
    smtp: 451,
    enhanced: "4.3.0",
    message: "the database is busy: {reason}",
    fix: "Try again. If it stays, another program holds the database, or a transaction does not end.",
  },
  diskFull: {
    code: "E_STORE_DISK_FULL",
    http: 507,
    smtp: 452,
    enhanced: "4.3.1",
    message: "no space left to write {what}",
    fix: "Free space on the disk of the data directory; nothing was half-written.",
  },
  tooManyFiles: {
    code: "E_STORE_TOO_MANY_FILES",
    http: 503,
    smtp: 451,
    enhanced: "4.3.2",
    message: "too many open files: cannot open {what}",
    fix: "Raise the open-file limit: LimitNOFILE= in the systemd unit, or `ulimit -n` in the shell that starts the server.",
  },
  notWritable: {
    code: "E_STORE_NOT_WRITABLE",
    http: 500,
    smtp: 451,
    enhanced: "4.3.0",
    message: "cannot write {what}: {reason}",
    fix: "Check the owner and the mode of the data directory, and that its disk is not mounted read-only.",
  },
  badKey: {
    code: "E_STORE_BAD_KEY",
    http: 400,
    message: "object key {key} is not usable: {reason}",
    fix: "A key is words of A-Z a-z 0-9 . _ - + = @ ~ joined by '/'; a word has at most 200 characters and does not begin with a dot.",
  },
  keyInUse: {
    code: "E_STORE_KEY_IN_USE",
    http: 409,
    message: "object key {key} collides: one key cannot be the folder of another",
    fix: "Give one of the two another last word.",
  },
  tooLarge: {
    code: "E_STORE_TOO_LARGE",
    http: 413,
    smtp: 552,
    enhanced: "5.3.4",
    message: "the body is larger than {maxBytes} bytes",
    fix: "Send a smaller body, or raise the limit in the configuration.",
  },
  badRange: {
    code: "E_STORE_BAD_RANGE",
    http: 416,
    message: "bytes {start}-{end} are not within the {size} bytes of the object",
  },
  absent: {
    code: "E_STORE_ABSENT",
    http: 404,
    message: "there is no object {key}",
  },
  badOffset: {
    code: "E_STORE_BAD_OFFSET",
    http: 409,
    message: "{key} has {size} bytes so far, and not {offset}",
    fix: "Go on where it ends.",
  },
  objectChanged: {
    code: "E_STORE_OBJECT_CHANGED",
    http: 409,
    message: "object {key} was replaced or deleted while it was being read",
    fix: "Open it again.",
  },
  badKeyFile: {
    code: "E_STORE_BAD_KEY_FILE",
    http: 500,
    message: "the secrets key {path} is not usable: {reason}",
    fix:
      "It holds one base64 key of 32 bytes per line, newest first, readable by its owner only (chmod 600). " +
      "Restore it from a backup: what it sealed opens with nothing else.",
  },
  cannotOpenSecret: {
    code: "E_STORE_CANNOT_OPEN_SECRET",
    http: 500,
    message: "the secret {context} cannot be opened: {reason}",
    fix: "Start with the key it was sealed with, or set the secret again.",
  },
  badJob: {
    code: "E_STORE_BAD_JOB",
    http: 400,
    message: "job {kind} cannot be queued: {reason}",
  },
  leaseLost: {
    code: "E_STORE_LEASE_LOST",
    http: 409,
    message: "job {id} is no longer this worker's: its lease ran out and it was given to another",
  },
});

/** True for errors of the table above; with `kind`, for that one only. */
export const isStoreError = (thrown: unknown, kind?: Exclude<keyof typeof storeErrors, "table">): thrown is UserError =>
  thrown instanceof UserError && thrown.domain === "store" && (kind === undefined || thrown.kind === kind);
