const MIB = 1024 * 1024;

/** Limits of the static assets of one worker version: those of the hosted service, where published. */
export const ASSET_LIMITS = {
  /** Maximum number of files. */
  files: 20_000,
  /** Maximum size of a file in bytes. */
  fileBytes: 25 * MIB,
  /** Maximum length of a path in UTF-8 bytes. PostgreSQL limits index entries to 2,704 bytes. */
  pathBytes: 1024,
  /** Maximum size in bytes of each of `_headers` and `_redirects`. */
  ruleFileBytes: 4 * MIB,
  /** Maximum number of rules in `_headers`. */
  headerRules: 100,
  /** Maximum number of rules in `_redirects`: static ones, and dynamic ones, which have a wildcard or placeholder. */
  staticRedirects: 2000,
  dynamicRedirects: 100,
  /** Maximum length of a line in `_headers` and `_redirects` in characters. */
  lineLength: 2000,
  /** Maximum number and length of the patterns in `run_worker_first`. */
  workerFirstRules: 100,
  workerFirstRuleLength: 100,
} as const;
