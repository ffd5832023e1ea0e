/**
 * Selects the names of the tables that contain data. The tables of full-text indexes are derived from them: triggers fill
 * them, and SQLite rejects writes to the tables in which it stores an index.
 */
export const DATA_TABLES =
  "select name from pragma_table_list where schema = 'main' and type = 'table' and name not like 'sqlite\\_%' escape '\\'";
