import { sql, type Kysely } from "kysely";

/** Maximum number of trigrams per query: callers compare the rows that are found with the whole text anyway. */
const MAX_TRIGRAMS = 24;

/**
 * The FTS5 expression for rows that contain all three-character sequences of this text, for a table with
 * `tokenize = 'trigram case_sensitive 1'` and `detail = none`. The rows may contain them in another order, so the caller
 * compares them with the text. Undefined for a text of fewer than three characters, which the index cannot find.
 */
export function trigramQuery(text: string): string | undefined {
  const characters = Array.from(text);
  const trigrams = new Set<string>();
  for (let at = 0; at + 3 <= characters.length; at++) trigrams.add(characters.slice(at, at + 3).join(""));
  if (trigrams.size === 0) return undefined;
  const step = Math.max(1, trigrams.size / MAX_TRIGRAMS);
  const all = [...trigrams];
  const chosen = Array.from({ length: Math.min(all.length, MAX_TRIGRAMS) }, (_, n) => all[Math.floor(n * step)]!);
  return chosen.map((trigram) => `"${trigram.replaceAll('"', '""')}"`).join(" AND ");
}

/**
 * Creates the extension pg_trgm of PostgreSQL. Resolves with the operator class for GIN indexes, quoted for SQL; undefined if
 * the server does not have the extension or the user may not create it. The transaction continues in that case.
 */
export async function createTrigramExtension(db: Kysely<unknown>): Promise<string | undefined> {
  // A block with an exception handler is a subtransaction.
  await sql`do $$ begin
    create extension if not exists pg_trgm;
  exception when insufficient_privilege or undefined_file or feature_not_supported then null;
  end $$`.execute(db);
  // Hosted databases install extensions in a schema that may not be on the search path.
  const { rows } = await sql<{ operators: string }>`
    select format('%I.gin_trgm_ops', nspname) as operators
    from pg_extension join pg_namespace on pg_namespace.oid = extnamespace where extname = 'pg_trgm'`.execute(db);
  return rows[0]?.operators;
}
