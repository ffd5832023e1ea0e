import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createAccounts } from "../../src/accounts/index.ts";
import { randomIds, silentLog, systemClock } from "../../src/kernel/index.ts";
import { migrations } from "../../src/server/index.ts";
import { createLocalEvents, migrate, openSqlite, type Db } from "../../src/store/index.ts";
import { createZones } from "../../src/zones/index.ts";

export interface FilledDirectory {
  token: string;
  zone: string;
  /** Ids of some records, spread across the table. */
  records: string[];
}

const PIECE = 50_000;
const SOME = 1000;

/**
 * Creates a data directory in the state left by `reelpost serve`, with one zone of this many records. Default database:
 * SQLite in the directory. Closes the database.
 */
export async function fillDataDirectory(directory: string, rows: number, database?: Db): Promise<FilledDirectory> {
  mkdirSync(directory, { recursive: true });
  const db = database ?? openSqlite({ path: join(directory, "reelpost.sqlite") });
  await migrate(db, migrations);
  const parts = {
    db,
    clock: systemClock,
    ids: randomIds,
    log: silentLog,
    events: createLocalEvents({ log: silentLog }),
  };
  const accounts = createAccounts(parts);
  const { account, token } = (await accounts.bootstrap())!;
  const zones = createZones({ ...parts, nameServers: ["ns1.example.net"] });
  const zone = await zones.create({ account: account.id, name: "example.com" });
  for (let from = 0; from < rows; from += PIECE) {
    const count = Math.min(PIECE, rows - from);
    await zones.records.import(
      zone,
      Array.from({ length: count }, (_, index) => `h${from + index} 300 IN A 192.0.2.${(from + index) % 250}`).join(
        "\n",
      ),
    );
  }
  const records: string[] = [];
  for (let page = 1; records.length < Math.min(SOME, rows); page++) {
    const { items } = await zones.records.list(
      zone.id,
      {},
      { page: Math.max(1, Math.floor((page / 10) * (rows / 100))), perPage: 100 },
    );
    records.push(...items.map(({ id }) => id));
  }
  await accounts.close();
  zones.close();
  await db.close();
  return { token, zone: zone.id, records };
}
