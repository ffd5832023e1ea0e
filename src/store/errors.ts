import { defineErrors, UserError } from "../kernel/index.ts";

/** Storage errors. `E_STORE_*` codes; the system's error is the `cause`. */
export const storeErrors = defineErrors("store", {
  notADatabase: {
    code: "E_STORE_NOT_A_DATABASE",
    http: 500,
    message: "{path} is not a SQLite database, or it is corrupt",
    fix: "Use another data directory, or restore this file from a backup.",
  },
  cannotOpen: {
    code: "E_STORE_CANNOT_OPEN",
    http: 500,
    message: "cannot open {path}: {reason}",
    fix: "Check that the folder exists and is readable and writable by this user.",
  },
  notDurable: {
    code: "E_STORE_NOT_DURABLE",
    http: 500,
    message: "Writes to {path} are not durable: {setting} is {found}, expected {wanted}",
    fix: "Move the database to a local file system; SQLite cannot guarantee durability on network shares.",
  },
  secretsKeyTwice: {
    code: "E_STORE_SECRETS_KEY_TWICE",
    http: 400,
    message: "secrets.key and secrets.key_file are both set.",
    fix: "Remove one of them.",
  },
  databaseNewer: {
    code: "E_STORE_DATABASE_NEWER",
    http: 500,
    message:
      "the database was written by a newer version of this program (it has {unknown}, which this version does not know)",
    fix: "Run the newer version, or restore a backup from before the upgrade.",
  },
  databaseNotEmpty: {
    code: "E_STORE_DATABASE_NOT_EMPTY",
    http: 409,
    message: "the database already contains data: the table {table} has rows",
    fix: "Restore into a new database.",
  },
  badRow: {
    code: "E_STORE_BAD_ROW",
    http: 500,
    message: "cannot store a row of the table {table}: {reason}",
    fix: "Nothing was stored. Restore into a SQLite database if PostgreSQL rejects the value.",
  },
  unreachable: {
    code: "E_STORE_UNREACHABLE",
    http: 503,
    smtp: 451,
    enhanced: "4.3.0",
    message: "cannot connect to the database at {address}: {reason}",
    fix: "Check that PostgreSQL is running there, and check the address, user and password in the database URL.",
  },
  busy: {
    code: "E_STORE_BUSY",
    http: 503,
    smtp: 451,
    enhanced: "4.3.0",
    message: "the database is busy: {reason}",
    fix: "Retry. If the error persists, another program has locked the database, or a transaction is stuck.",
  },
  diskFull: {
    code: "E_STORE_DISK_FULL",
    http: 507,
    smtp: 452,
    enhanced: "4.3.1",
    message: "no space left to write {what}",
    fix: "Free up disk space for the data directory, or raise the quota of the bucket; nothing was partially written.",
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
    fix: "Check owner and mode of the data directory, and that its disk is not mounted read-only.",
  },
  badKey: {
    code: "E_STORE_BAD_KEY",
    http: 400,
    message: "invalid object key {key}: {reason}",
    fix: "Use segments of A-Z a-z 0-9 . _ - + = @ ~ separated by '/'; a segment has at most 200 characters and does not begin with a dot.",
  },
  keyInUse: {
    code: "E_STORE_KEY_IN_USE",
    http: 409,
    message: "object key {key} conflicts with an existing key: one key cannot be a parent folder of another",
    fix: "Rename one of the two keys.",
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
    message: "object {key} not found",
  },
  badOffset: {
    code: "E_STORE_BAD_OFFSET",
    http: 409,
    message: "wrong offset {offset}: {key} has {size} bytes so far",
    fix: "Resume from the end of the stored data.",
  },
  objectChanged: {
    code: "E_STORE_OBJECT_CHANGED",
    http: 409,
    message: "object {key} was replaced or deleted while it was being read",
    fix: "Open it again.",
  },
  badObjectsUrl: {
    code: "E_STORE_BAD_OBJECTS_URL",
    http: 400,
    message: "invalid objects.url {url}: {reason}",
    fix: "Use s3://bucket/prefix?endpoint=https://host&region=name; only the bucket is required.",
  },
  objectsUnreachable: {
    code: "E_STORE_OBJECTS_UNREACHABLE",
    http: 503,
    smtp: 451,
    enhanced: "4.3.0",
    message: "the object storage at {address} does not respond: {reason}",
    fix: "Check that it is running and reachable, and check the endpoint and the region in objects.url.",
  },
  objectsDenied: {
    code: "E_STORE_OBJECTS_DENIED",
    http: 503,
    smtp: 451,
    enhanced: "4.3.0",
    message: "the object storage at {address} denied access: {reason}",
    fix: "Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the role of this machine. It needs to read, write, delete and list objects of the bucket, and to abort multipart uploads.",
  },
  bucketMissing: {
    code: "E_STORE_BUCKET_MISSING",
    http: 503,
    smtp: 451,
    enhanced: "4.3.0",
    message: "the bucket {bucket} does not exist at {address}",
    fix: "Create the bucket, or correct its name or the endpoint in objects.url.",
  },
  clockSkew: {
    code: "E_STORE_CLOCK_SKEW",
    http: 503,
    smtp: 451,
    enhanced: "4.3.0",
    message: "the object storage at {address} rejected a request because of its time: {reason}",
    fix: "Synchronize the clock of this machine, for example with chrony.",
  },
  partialReplaced: {
    code: "E_STORE_PARTIAL_REPLACED",
    http: 409,
    message: "another writer continued {key} at {offset} bytes",
    fix: "Stop this upload, ask for the stored size and continue from there.",
  },
  partialDamaged: {
    code: "E_STORE_PARTIAL_DAMAGED",
    http: 409,
    message: "the stored parts of {key} do not belong together: {reason}",
    fix: "Upload it again from the beginning.",
  },
  badKeyFile: {
    code: "E_STORE_BAD_KEY_FILE",
    http: 500,
    message: "invalid secrets key file {path}: {reason}",
    fix:
      "The file must contain one base64 key of 32 bytes per line, newest first, readable by its owner only (chmod 600). " +
      "Restore it from a backup: secrets encrypted with this key cannot be decrypted with another one.",
  },
  cannotOpenSecret: {
    code: "E_STORE_CANNOT_OPEN_SECRET",
    http: 500,
    message: "cannot decrypt the secret {context}: {reason}",
    fix: "Start the server with the key that encrypted it, or set the secret again.",
  },
  holdInUse: {
    code: "E_STORE_HOLD_IN_USE",
    http: 409,
    message: "another backup is reading the objects in {folder}",
    fix: "Wait until it finishes, or wait two minutes if it was killed.",
  },
  holdLost: {
    code: "E_STORE_HOLD_LOST",
    http: 500,
    message: "objects in {folder} may have been deleted while the backup was reading them",
    fix: "Create the backup again. Possible causes: the computer was suspended, or its disk is full.",
  },
  badJob: {
    code: "E_STORE_BAD_JOB",
    http: 400,
    message: "cannot enqueue job {kind}: {reason}",
  },
  leaseLost: {
    code: "E_STORE_LEASE_LOST",
    http: 409,
    message: "lost the lease on job {id}: it expired, and another worker has taken the job",
  },
});

/** True for errors from the table above; with `kind`, only for that one. */
export const isStoreError = (thrown: unknown, kind?: Exclude<keyof typeof storeErrors, "table">): thrown is UserError =>
  thrown instanceof UserError && thrown.domain === "store" && (kind === undefined || thrown.kind === kind);
