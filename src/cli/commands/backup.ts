import { resolve } from "node:path";
import { formatSize } from "../../kernel/text.ts";
import { defineCommand, EXIT, type CommandContext } from "../command.ts";
import { nameValueLines, formatUtcTime, plural, printResult, table } from "../print.ts";
import { createProgress } from "../progress.ts";
import { readServerSettings, serverDataOptions, type ServerDataValues } from "../server-data.ts";

const folderArgument = {
  name: "folder",
  summary: "backup folder; default: backup.dir in the settings",
  complete: "directory",
} as const;

const idOption = { type: "string", placeholder: "id", summary: "backup", defaultText: "the newest one" } as const;

const identityOption = {
  type: "string",
  placeholder: "file",
  summary: "file with the age identity that decrypts the backup",
  complete: "file",
} as const;

/** Resolves with the argument, or backup.dir. */
async function folderOf(
  argument: string | undefined,
  values: ServerDataValues,
  context: CommandContext,
): Promise<string> {
  if (argument !== undefined) return resolve(context.cwd, argument);
  const { backup } = await readServerSettings(values, context);
  if (backup.dir === "") throw (await import("../../server/index.ts")).serverErrors.noBackupFolder();
  return backup.dir;
}

const create = defineCommand({
  name: "backup create",
  summary: "back up a server, even while it is running",
  description: `Copies database rows, objects, D1 databases, Durable Objects and certificates into a folder. Objects in a bucket (objects.url) stay there. Data that an earlier backup in the folder contains
is not copied again. The backup contains everything that the server acknowledged before the command started.

Run it on the server machine, as the user that runs \`reelpost serve\`. An encrypted backup contains the key that encrypts secrets; otherwise
store a copy of secrets.key separately, or pass --with-secrets-key.`,
  arguments: [folderArgument],
  options: {
    ...serverDataOptions,
    recipient: {
      type: "string",
      short: "r",
      multiple: true,
      placeholder: "age1…",
      summary: "encrypt for this age recipient",
      defaultText: "backup.recipients in the settings",
    },
    keep: {
      type: "number",
      min: 0,
      max: 100_000,
      summary: "number of backups to keep; 0 keeps all",
      defaultText: "backup.keep in the settings, or 7",
    },
    "with-secrets-key": {
      type: "boolean",
      summary: "include the secrets key in an unencrypted backup",
    },
  },
  examples: [
    ["reelpost backup create /mnt/backup/reelpost", "backs up into a folder on another disk"],
    [
      "reelpost backup create /mnt/backup/reelpost --recipient age1… --keep 30",
      "encrypts the backup and keeps the newest 30",
    ],
    ["reelpost backup create --settings /etc/reelpost/settings.jsonc", "backs up into backup.dir"],
  ],
  async run(values, [folder], context) {
    const { backUpServer } = await import("../../server/index.ts");
    const settings = await readServerSettings(values, context);
    const progress = createProgress(context.stderr);
    try {
      const { manifest, removed, freedBytes } = await backUpServer(settings, {
        version: context.version,
        clock: context.clock,
        folder: folder === undefined ? undefined : resolve(context.cwd, folder),
        recipients: values.recipient?.length ? values.recipient : undefined,
        keep: values.keep,
        withSecretsKey: values["with-secrets-key"] === true,
        onProgress: ({ step, files, bytes }) =>
          progress.step(`${step}: ${plural(files, "file")}, ${formatSize(bytes)}`),
      });
      progress.clear();
      if (manifest.objects_url !== undefined)
        context.stderr.line(
          `warning: the backup does not contain the objects in ${manifest.objects_url}. Use the versioning of the S3 server to keep objects that are deleted later.`,
        );
      for (const warning of manifest.warnings) context.stderr.line(`warning: ${warning}`);
      if (manifest.secrets_key === "separate")
        context.stderr.line(
          "warning: the backup does not contain the key that encrypts secrets. Store a copy separately: you need it to restore the backup.",
        );
      const {
        id,
        started_on: startedOn,
        files,
        bytes,
        rows,
        added_files: addedFiles,
        added_bytes: addedBytes,
      } = manifest;
      printResult(
        context,
        {
          id,
          started_on: startedOn,
          files,
          bytes,
          rows,
          added_files: addedFiles,
          added_bytes: addedBytes,
          encrypted: manifest.recipients.length > 0,
          secrets_key: manifest.secrets_key,
          ...(manifest.objects_url !== undefined && { objects_url: manifest.objects_url }),
          warnings: manifest.warnings,
          removed,
          freed_bytes: freedBytes,
        },
        (paint) =>
          nameValueLines(
            [
              ["backup", id],
              ["data", `${plural(files, "file")}, ${formatSize(bytes)}, ${plural(rows, "row")}`],
              ["added", `${plural(addedFiles, "file")}, ${formatSize(addedBytes)}`],
              ["encrypted", manifest.recipients.length > 0 ? "yes" : "no"],
              [
                "deleted",
                removed.length === 0 ? undefined : `${plural(removed.length, "backup")}, ${formatSize(freedBytes)}`,
              ],
            ],
            paint,
          ),
      );
    } finally {
      progress.clear();
    }
    return 0;
  },
});

const list = defineCommand({
  name: "backup list",
  summary: "list the complete backups in a folder",
  arguments: [folderArgument],
  options: serverDataOptions,
  examples: [["reelpost backup list /mnt/backup/reelpost", "lists the backups in this folder"]],
  async run(values, [argument], context) {
    const { openBackupFolder } = await import("../../backup/index.ts");
    const folder = await openBackupFolder(await folderOf(argument, values, context));
    const { manifests, unusable } = await folder.list().finally(() => folder.close());
    for (const { id, reason } of unusable) context.stderr.line(`warning: the backup ${id} is damaged: ${reason}`);
    const backups = manifests.map((manifest) => ({
      id: manifest.id,
      started_on: manifest.started_on,
      finished_on: manifest.finished_on,
      version: manifest.version,
      database: manifest.database,
      files: manifest.files,
      bytes: manifest.bytes,
      added_bytes: manifest.added_bytes,
      encrypted: manifest.recipients.length > 0,
      secrets_key: manifest.secrets_key,
    }));
    printResult(context, { backups, damaged: unusable }, (paint) =>
      table(
        ["id", "started", "files", "size", "added", "encrypted", "secrets key"],
        backups.map((backup) => [
          backup.id,
          formatUtcTime(backup.started_on),
          backup.files,
          formatSize(backup.bytes),
          formatSize(backup.added_bytes),
          backup.encrypted ? "yes" : "no",
          backup.secrets_key,
        ]),
        paint,
      ),
    );
    return 0;
  },
});

const verify = defineCommand({
  name: "backup verify",
  summary: "read an entire backup and compare it with its hashes",
  description: `Also checks that rows and databases can be read. For an encrypted backup, this check needs --identity. Without it, the command
only compares the encrypted files with their hashes. The exit code is 1 if there is a problem.`,
  arguments: [folderArgument],
  options: { ...serverDataOptions, id: idOption, identity: identityOption },
  examples: [
    ["reelpost backup verify /mnt/backup/reelpost", "verifies the newest backup"],
    ["reelpost backup verify /mnt/backup/reelpost --identity key.txt", "verifies an encrypted backup"],
  ],
  async run(values, [argument], context) {
    const { verifyBackup } = await import("../../backup/index.ts");
    const progress = createProgress(context.stderr);
    const { manifest, depth, contents, bytes, problems } = await verifyBackup({
      folder: await folderOf(argument, values, context),
      id: values.id,
      identityFile: values.identity === undefined ? undefined : resolve(context.cwd, values.identity),
      onProgress: (read) => progress.step(`verify: ${plural(read.files, "file")}, ${formatSize(read.bytes)}`),
    }).finally(() => progress.clear());
    printResult(context, { id: manifest.id, ok: problems.length === 0, depth, contents, bytes, problems }, (paint) => [
      ...problems.map(({ path, problem }) => `${paint("red", "damaged")}  ${path}: ${problem}`),
      problems.length > 0
        ? `${plural(problems.length, "file")} of the backup ${manifest.id} cannot be restored. Delete the damaged files in contents/; the next backup stores them again.`
        : `The backup ${manifest.id} is intact: ${plural(contents, "file")}, ${formatSize(bytes)}.${depth === "stored" ? " It is encrypted: pass --identity to check rows and databases as well." : ""}`,
    ]);
    return problems.length === 0 ? 0 : EXIT.failed;
  },
});

const restore = defineCommand({
  name: "backup restore",
  summary: "restore a backup into an empty data directory",
  description: `Existing data is never overwritten: the data directory and the database must be empty. If database.url is set, the rows are
restored into that PostgreSQL database, regardless of the database that the backup was made from. To continue an interrupted restore, run the same command again. The
server does not start until the restore is complete.`,
  arguments: [folderArgument],
  options: {
    ...serverDataOptions,
    id: idOption,
    identity: identityOption,
    "secrets-key": {
      type: "string",
      placeholder: "file",
      summary: "key file, if the backup does not contain the key that encrypts secrets",
      complete: "file",
    },
    "dry-run": { type: "boolean", summary: "check everything that the restore needs, and write nothing" },
  },
  examples: [
    ["reelpost backup restore /mnt/backup/reelpost --data-dir /var/lib/reelpost", "restores the newest backup"],
    ["reelpost backup restore /mnt/backup/reelpost --identity key.txt --dry-run", "checks an encrypted backup"],
    [
      "reelpost backup restore /mnt/backup/reelpost --settings /etc/reelpost/settings.jsonc",
      "restores into PostgreSQL if database.url is set",
    ],
  ],
  async run(values, [argument], context) {
    const { restoreServer } = await import("../../server/index.ts");
    const settings = await readServerSettings(values, context);
    const path = (name: string | undefined) => (name === undefined ? undefined : resolve(context.cwd, name));
    const progress = createProgress(context.stderr);
    const isDryRun = values["dry-run"] === true;
    const restored = await restoreServer(settings, {
      folder: await folderOf(argument, values, context),
      id: values.id,
      identityFile: path(values.identity),
      secretsKeyFile: path(values["secrets-key"]),
      dryRun: isDryRun,
      onProgress: ({ step, files, bytes }) => progress.step(`${step}: ${plural(files, "file")}, ${formatSize(bytes)}`),
    }).finally(() => progress.clear());
    const { manifest, files, bytes, rows, secretsKey, freeBytes } = restored;
    const database = settings.database.url === "" ? "sqlite" : "postgres";
    printResult(
      context,
      {
        id: manifest.id,
        started_on: manifest.started_on,
        dry_run: isDryRun,
        data_directory: settings.data_dir,
        database,
        files,
        bytes,
        rows,
        secrets_key: secretsKey,
        ...(freeBytes !== undefined && { free_bytes: freeBytes }),
      },
      (paint) => [
        ...nameValueLines(
          [
            ["backup", `${manifest.id}, of ${formatUtcTime(manifest.started_on)}`],
            ["data", `${plural(files, "file")}, ${formatSize(bytes)}, ${plural(rows, "row")}`],
            ["directory", settings.data_dir],
            ["database", database === "sqlite" ? "SQLite" : "PostgreSQL"],
            ["secrets key", secretsKey === "backup" ? "from the backup" : "as configured"],
            ["free space", freeBytes === undefined ? undefined : formatSize(freeBytes)],
          ],
          paint,
        ),
        isDryRun
          ? "The checks passed. Nothing was written. To restore, run the command without --dry-run."
          : "The restore is complete. Start the server.",
      ],
    );
    return 0;
  },
});

const keygen = defineCommand({
  name: "backup keygen",
  summary: "create an age identity for encrypted backups",
  description: `Prints the identity, which decrypts backups, and its recipient, which encrypts them. Store the identity away from the server. Without it, you cannot restore an encrypted
backup.`,
  options: {},
  examples: [["reelpost backup keygen > reelpost-backup-key.txt", "creates an identity file"]],
  async run(_, __, context) {
    const { generateIdentity } = await import("../../backup/index.ts");
    const { identity, recipient } = await generateIdentity();
    printResult(context, { identity, recipient }, () => [`# recipient: ${recipient}`, identity]);
    if (!context.json) context.stderr.line(`recipient: ${recipient}`);
    return 0;
  },
});

export const backupCommands = [create, list, verify, restore, keygen];
