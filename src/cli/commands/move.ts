import { resolve } from "node:path";
import { formatSize } from "../../kernel/text.ts";
import { facts, plural, printResult } from "../print.ts";
import { createProgress } from "../progress.ts";
import { defineCommand } from "../command.ts";
import { readServerSettings, serverDataOptions } from "./backup.ts";

export const move = defineCommand({
  name: "move",
  summary: "move a server's rows to PostgreSQL and its objects to another store",
  description: `Run it on the server machine, as the user that runs \`reelpost serve\`. The server may be running. With --prepare it only copies objects, and the
server keeps accepting writes. Without it, the command then makes the SQLite database read-only, copies the rest, and compares everything. Meanwhile the server
keeps serving reads; it answers writes with 503, and mail with 451. Then restart it with the new settings.

An interrupted move continues when you run the same command again. The old data is kept and stays read-only; --cancel makes it writable again. D1 databases stay
in the data directory. Uploads in progress must be started over. Durable Objects require SQLite.`,
  options: {
    ...serverDataOptions,
    "database-url": {
      type: "string",
      placeholder: "url",
      summary: "empty PostgreSQL database that receives the rows: postgres://user:password@host/database",
    },
    "objects-dir": {
      type: "string",
      placeholder: "dir",
      summary: "empty folder that receives the objects",
      complete: "directory",
    },
    "objects-url": {
      type: "string",
      placeholder: "url",
      summary: "bucket that receives the objects, in the format of the objects.url setting",
    },
    prepare: { type: "boolean", summary: "only copy objects, and leave the server writable" },
    cancel: {
      type: "boolean",
      summary: "make the server writable again at its old location; changes made in the new location are lost",
    },
  },
  examples: [
    ["reelpost move --objects-dir /mnt/shared/objects --prepare", "copies most objects in advance"],
    [
      "reelpost move --database-url postgres://reelpost:secret@db.internal/reelpost --objects-dir /mnt/shared/objects",
      "moves rows and objects",
    ],
    ["reelpost move --cancel", "returns to the old location"],
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
      ...facts(
        [
          [
            "objects",
            directory === undefined
              ? undefined
              : `${objects.count}, ${formatSize(objects.bytes)}, of which ${objects.copied} copied now`,
          ],
          ["rows", rows === undefined ? undefined : plural(rows, "row")],
        ],
        paint,
      ),
      prepareOnly
        ? "The objects have been copied. The server still accepts writes; to finish, run the command without --prepare."
        : `The data is moved and identical. Restart the server with ${[
            ...(values["database-url"] === undefined ? [] : ["database.url"]),
            ...(directory === undefined ? [] : [values["objects-url"] === undefined ? "objects.dir" : "objects.url"]),
          ].join(" and ")} set to the new location.`,
    ]);
    return 0;
  },
});
