import { resolve } from "node:path";
import { formatSize } from "../../kernel/text.ts";
import { nameValueLines, plural, printResult } from "../print.ts";
import { createProgress } from "../progress.ts";
import { defineCommand } from "../command.ts";
import { readServerSettings, serverDataOptions } from "../server-data.ts";

export const move = defineCommand({
  name: "move",
  summary: "move a server's rows to PostgreSQL and its objects to another store",
  description: `Run it on the server's machine, as the user that runs \`reelpost serve\`. The server may be running. With --prepare, the command only copies objects, and
the server still accepts writes. Without it, the command makes the SQLite database read-only, copies the rest, and compares everything. During this time the
server serves reads, and responds to writes with 503 and to mail with 451. Then restart the server with the new settings.

To resume an interrupted move, run the same command again. The old data is kept and stays read-only; --cancel makes it writable again. D1 databases stay
in the data directory. Uploads in progress must start again. Durable Objects require SQLite.`,
  options: {
    ...serverDataOptions,
    "database-url": {
      type: "string",
      placeholder: "url",
      summary: "URL of an empty PostgreSQL database to move the rows to: postgres://user:password@host/database",
    },
    "objects-dir": {
      type: "string",
      placeholder: "dir",
      summary: "empty folder for the objects",
      complete: "directory",
    },
    "objects-url": {
      type: "string",
      placeholder: "url",
      summary: "bucket for the objects, in the format of the objects.url setting",
    },
    prepare: { type: "boolean", summary: "only copy objects, and leave the server writable" },
    cancel: {
      type: "boolean",
      summary: "cancel the move and make the old location writable again; changes made in the new location are lost",
    },
  },
  examples: [
    ["reelpost move --objects-dir /mnt/shared/objects --prepare", "copies most objects in advance"],
    [
      "reelpost move --database-url postgres://reelpost:secret@db.internal/reelpost --objects-dir /mnt/shared/objects",
      "moves rows and objects",
    ],
    ["reelpost move --cancel", "cancels the move"],
  ],
  async run(values, _, context) {
    const { cancelServerMove, moveServer } = await import("../../server/index.ts");
    const settings = await readServerSettings(values, context);
    if (values.cancel === true) {
      cancelServerMove(settings);
      printResult(context, { cancelled: true }, () => ["The server is writable again."]);
      return 0;
    }
    const folder = values["objects-dir"];
    const directory = values["objects-url"] ?? (folder === undefined ? undefined : resolve(context.cwd, folder));
    const prepareOnly = values.prepare === true;
    const progress = createProgress(context.stderr);
    const { objects, rows } = await moveServer(settings, {
      databaseUrl: values["database-url"],
      newObjects: directory,
      prepareOnly,
      onProgress: ({ step, count, bytes }) => progress.step(`${step}: ${count}, ${formatSize(bytes)}`),
    }).finally(() => progress.clear());
    printResult(context, { prepared_only: prepareOnly, objects, rows: rows ?? null }, (paint) => [
      ...nameValueLines(
        [
          [
            "objects",
            directory === undefined
              ? undefined
              : `${objects.count}, ${formatSize(objects.bytes)}, ${objects.copied} of them copied now`,
          ],
          ["rows", rows === undefined ? undefined : plural(rows, "row")],
        ],
        paint,
      ),
      prepareOnly
        ? "The objects have been copied, and the server still accepts writes. To complete the move, run the command without --prepare."
        : `The data has been moved and compared. Restart the server with ${[
            ...(values["database-url"] === undefined ? [] : ["database.url"]),
            ...(directory === undefined ? [] : [values["objects-url"] === undefined ? "objects.dir" : "objects.url"]),
          ].join(" and ")} set to the new location.`,
    ]);
    return 0;
  },
});
