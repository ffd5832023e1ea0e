// The main module of a database process: it owns open databases and handles the frames on descriptor 3 one after the other.
// It is a process and not a thread, because an endless query cannot be stopped inside a thread: terminating one waits
// for SQLite to return, and Node offers neither sqlite3_interrupt() nor a progress handler. A process can be killed,
// and WAL keeps committed data.
import { Socket } from "node:net";
import { messageOf } from "../../../kernel/index.ts";
import { openDatabase, type OpenDatabase, type StatementOptions, type StatementInput } from "./database.ts";
import { dieWithParent } from "./die-with-parent.ts";
import { createFrameReader, writeFrame, type Frame } from "./frames.ts";
import type { D1Limits } from "./limits.ts";

const MAX_OPEN_DATABASES = 100;
const EMPTY_FRAME = { header: {}, body: Buffer.alloc(0) };

const limits = JSON.parse(process.argv[2]!) as D1Limits;
const channel = new Socket({ fd: 3 });
/** By file path, least recently used first. */
const openDatabases = new Map<string, OpenDatabase>();

dieWithParent();

// The server is gone or asks this process to end; the last response is still written.
channel.on("end", () => {
  for (const file of openDatabases.keys()) close(file);
});
channel.on("error", () => process.exit(1));
channel.on("close", () => process.exit(0));
channel.on(
  "data",
  createFrameReader(({ header, body }) => {
    const answer = header.op === "close" ? close(String(header.file)) : run(header, body);
    writeFrame(channel, answer.header, answer.body);
  }),
);

function run(header: Frame["header"], body: Buffer): { header: Record<string, unknown>; body: Buffer } {
  let input: StatementInput[];
  try {
    input = parseStatements(body);
  } catch (error) {
    return { header: {}, body: Buffer.from(JSON.stringify({ success: false, error: messageOf(error) })) };
  }
  const file = String(header.file);
  try {
    const json = databaseAt(file).run(input, header.options as unknown as StatementOptions);
    return { header: {}, body: Buffer.from(json) };
  } catch (error) {
    // An error of the file or the machine, not of the SQL: the state of this connection is unknown, so the next request
    // opens a new one.
    close(file);
    return { ...EMPTY_FRAME, header: { fault: messageOf(error) } };
  }
}

function databaseAt(file: string): OpenDatabase {
  const database = openDatabases.get(file) ?? openDatabase(file, limits);
  openDatabases.delete(file);
  openDatabases.set(file, database);
  if (openDatabases.size > MAX_OPEN_DATABASES) close(openDatabases.keys().next().value!);
  return database;
}

function close(file: string) {
  const database = openDatabases.get(file);
  openDatabases.delete(file);
  try {
    database?.close();
  } catch {
    // The file is damaged: nothing can be kept open.
  }
  return EMPTY_FRAME;
}

/** Parses `{sql, params}` or an array of them, as sent by workerd's D1 client. */
function parseStatements(body: Buffer): StatementInput[] {
  let parsedStatements: unknown;
  try {
    parsedStatements = JSON.parse(body.toString());
  } catch {
    throw new Error("The request is not JSON.");
  }
  const list = Array.isArray(parsedStatements) ? parsedStatements : [parsedStatements];
  for (const entry of list) {
    if (typeof entry !== "object" || entry === null || typeof (entry as StatementInput).sql !== "string")
      throw new Error("Every statement must have its SQL as a string.");
  }
  return list as StatementInput[];
}
