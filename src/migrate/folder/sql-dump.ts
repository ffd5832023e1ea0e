import { constants, DatabaseSync } from "node:sqlite";
import { messageOf } from "../../kernel/index.ts";
import { linesWithOffsets } from "./files.ts";

/** A quoted string or name, or a comment, or the start of one that continues on the next line. */
const QUOTED = /'[^']*'|"[^"]*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|\/\*[^]*?\*\//g;
const OPEN = /['"`[]|\/\*/;

/** Executes a SQL dump of any size on a new database file. Throws the SQLite error, with the line number. */
export async function loadSqlDump(dump: string, file: string): Promise<DatabaseSync> {
  const db = new DatabaseSync(file, { enableForeignKeyConstraints: false });
  try {
    db.exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN");
    // A dump from elsewhere must not open other files.
    db.setAuthorizer((action) => (action === constants.SQLITE_ATTACH ? constants.SQLITE_DENY : constants.SQLITE_OK));
    let pending = "";
    let number = 0;
    for await (const { line } of linesWithOffsets(dump)) {
      const text = line.toString();
      number++;
      pending += `${text}\n`;
      if (text.trimEnd().endsWith(";") && isBalanced(pending) && execute(db, pending, number)) pending = "";
    }
    if (pending.trim() !== "" && !execute(db, pending, number))
      throw new Error(`line ${number}: the last statement is incomplete`);
    db.exec("COMMIT");
    return db;
  } catch (thrown) {
    db.close();
    throw thrown;
  }
}

const isBalanced = (sql: string) => !OPEN.test(sql.replaceAll(QUOTED, ""));

/** False if the statement continues: the body of a trigger contains semicolons. */
function execute(db: DatabaseSync, sql: string, line: number): boolean {
  try {
    db.exec(sql);
    return true;
  } catch (thrown) {
    if (messageOf(thrown).includes("incomplete input")) return false;
    throw new Error(`line ${line}: ${messageOf(thrown)}`, { cause: thrown });
  }
}
