const MIB = 1024 * 1024;

/** Limits of the static assets of one worker version, as in the hosted service where it publishes one. */
export const ASSET_LIMITS = {
  /** Maximum number of files. */
  files: 20_000,
  /** Maximum bytes of one file. */
  fileBytes: 25 * MIB,
  /** Maximum bytes of a path in UTF-8: an index entry of PostgreSQL has at most 2,704. */
  pathBytes: 1024,
  /** Maximum bytes of `_headers` and of `_redirects`. */
  ruleFileBytes: 4 * MIB,
  /** Maximum number of rules in `_headers`. */
  headerRules: 100,
  /** Maximum number of rules in `_redirects` without and with a wildcard or placeholder. */
  staticRedirects: 2000,
  dynamicRedirects: 100,
  /** Maximum characters of a line in `_headers` and `_redirects`. */
  lineLength: 2000,
  /** Maximum number and length of the patterns in `run_worker_first`. */
  workerFirstRules: 100,
  workerFirstRuleLength: 100,
} as const;
