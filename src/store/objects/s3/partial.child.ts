import { silentLog, systemClock } from "../../../kernel/index.ts";
import { openPostgres } from "../../db/postgres.ts";
import { openSqlite } from "../../db/sqlite.ts";
import { parseObjectsUrl } from "./address.ts";
import { openS3Objects } from "./s3.ts";
import type { ChildOptions } from "./partial-kill.test.ts";
import { bytesAt } from "./s3.testing.ts";

/** Appends to a partial object until the process is killed, and prints the size after each append. */
const { where, url, scratch, pieceBytes, partBytes } = JSON.parse(process.argv[2]!) as ChildOptions;
const db = "url" in where ? await openPostgres({ url: where.url, connections: 2 }) : openSqlite(where);
const objects = await openS3Objects({
  location: parseObjectsUrl(url),
  db,
  scratch,
  clock: systemClock,
  log: silentLog,
  partBytes,
});
const partial = objects.partial("a/source");
for (let size = await partial.size(); ;) {
  const start = size;
  size = await partial.append(
    size,
    (async function* () {
      for (let sent = 0; sent < pieceBytes; sent += 65_536)
        yield bytesAt(start + sent, Math.min(65_536, pieceBytes - sent));
    })(),
  );
  process.stdout.write(`${size}\n`);
}
