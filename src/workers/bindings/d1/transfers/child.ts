// The main module of a process that runs one import (SQL on stdin) or one export (SQL on stdout) of a database and
// reports the outcome on descriptor 3. It is a separate process because both may spend minutes inside SQLite.
import { once } from "node:events";
import { writeSync } from "node:fs";
import { messageOf } from "../../../../kernel/index.ts";
import { dieWithParent } from "../die-with-parent.ts";
import { D1SqlError } from "../refusal.ts";
import { exportSql } from "./export-sql.ts";
import { importSql } from "./import-sql.ts";
import type { TransferOutcome, TransferTask } from "./task.ts";

dieWithParent();

async function run(task: TransferTask): Promise<TransferOutcome> {
  try {
    if (task.kind === "import") return { done: await importSql(process.stdin, task.request, task.limits) };
    for (const piece of exportSql(task.file, task.options, task.limits))
      if (!process.stdout.write(piece)) await once(process.stdout, "drain");
    await new Promise<void>((resolve) => process.stdout.end(resolve));
    return { done: {} };
  } catch (err) {
    return err instanceof D1SqlError ? { refused: err.message } : { fault: messageOf(err) };
  }
}

writeSync(3, JSON.stringify(await run(JSON.parse(process.argv[2]!) as TransferTask)));
process.exit(0);
