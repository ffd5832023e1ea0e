import { ROW_COUNTS } from "./row-counts.ts";

/**
 * Selects the names of the tables that contain data. Triggers derive the others from them: the counts of rows, and
 * full-text indexes, which SQLite stores in tables of the type shadow.
 */
export const DATA_TABLES = `select name from pragma_table_list
  where schema = 'main' and type = 'table' and name not like 'sqlite\\_%' escape '\\' and name <> '${ROW_COUNTS}'`;

/** The same for PostgreSQL. */
export const POSTGRES_DATA_TABLES = `select table_name as name from information_schema.tables
  where table_schema = current_schema() and table_type = 'BASE TABLE' and table_name <> '${ROW_COUNTS}'`;
