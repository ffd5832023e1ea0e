/** SQLITE_CONSTRAINT_PRIMARYKEY and SQLITE_CONSTRAINT_UNIQUE, as extended result codes. */
const SQLITE_UNIQUE = new Set([1555, 2067]);
const POSTGRES_UNIQUE = "23505";

/** True if a write failed because of a duplicate unique key, on either engine. */
export const isUniqueViolation = (thrown: unknown): boolean =>
  thrown instanceof Error &&
  (("errcode" in thrown && SQLITE_UNIQUE.has(Number(thrown.errcode))) ||
    ("code" in thrown && thrown.code === POSTGRES_UNIQUE));
