import { ASSET_LIMITS } from "./limits.ts";

export const HTML_HANDLING = ["auto-trailing-slash", "force-trailing-slash", "drop-trailing-slash", "none"] as const;
export const NOT_FOUND_HANDLING = ["none", "404-page", "single-page-application"] as const;

/**
 * Configures how asset requests are answered: `assets` in the configuration file, and the files `_headers` and
 * `_redirects`.
 */
export interface AssetsConfig {
  /** URL form of HTML files. Default "auto-trailing-slash". */
  htmlHandling?: (typeof HTML_HANDLING)[number];
  /** Response to a request that matches no asset. Default "none". */
  notFoundHandling?: (typeof NOT_FOUND_HANDLING)[number];
  /** Requests that the worker handles before assets: all, or those with a matching path. Default false. */
  runWorkerFirst?: boolean | string[];
  /** The path under which the assets are served, as readBasePath() returns it. Default "/". */
  basePath?: string;
  /** Contents of `_headers` and `_redirects`. */
  headers?: string;
  redirects?: string;
}

/** The patterns of `run_worker_first`. `assets` contains the negative ones without their "!"; they take precedence. */
interface WorkerFirstRules {
  worker: string[];
  assets: string[];
}

export const workerFirstRules = (patterns: readonly string[]): WorkerFirstRules => ({
  worker: patterns.filter((pattern) => !pattern.startsWith("!")),
  assets: patterns.filter((pattern) => pattern.startsWith("!")).map((pattern) => pattern.slice(1)),
});

/** Returns the first problem of the `run_worker_first` patterns and its fix, or undefined if they are valid. */
export function workerFirstProblem(patterns: readonly string[]): { reason: string; fix: string } | undefined {
  const { workerFirstRules: maxPatterns, workerFirstRuleLength: maxLength } = ASSET_LIMITS;
  if (patterns.length === 0) return { reason: "the list is empty", fix: 'Add a pattern such as "/api/*".' };
  if (patterns.length > maxPatterns)
    return {
      reason: `it has ${patterns.length} patterns`,
      fix: `Use at most ${maxPatterns}; one "*" matches many paths.`,
    };
  for (const [index, pattern] of patterns.entries()) {
    const quotedPattern = JSON.stringify(pattern.slice(0, maxLength));
    if (!/^!?\//.test(pattern))
      return { reason: `the pattern ${quotedPattern} begins with neither / nor !/`, fix: 'Begin it with "/" or "!/".' };
    if (pattern.length > maxLength)
      return {
        reason: `a pattern has ${pattern.length} characters: ${quotedPattern}…`,
        fix: `Use at most ${maxLength}.`,
      };
    if (patterns.indexOf(pattern) < index)
      return { reason: `the pattern ${quotedPattern} is listed twice`, fix: "List each pattern once." };
    const widerPattern = patterns.find(
      (other) => other !== pattern && other.endsWith("*") && pattern.startsWith(other.slice(0, -1)),
    );
    if (widerPattern !== undefined)
      return {
        reason: `the pattern ${JSON.stringify(widerPattern)} makes ${quotedPattern} redundant`,
        fix: "Remove one of them.",
      };
  }
  if (patterns.every((pattern) => pattern.startsWith("!")))
    return { reason: "it has only negative patterns", fix: 'Add a pattern without "!", such as "/*".' };
  return undefined;
}

/**
 * True if `path` matches `pattern`, in which `*` matches any text. For each `*`, the time is linear in the length of
 * the path.
 */
export function matchesGlob(pattern: string, path: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  if (rest.length === 0) return path === pattern;
  const last = rest.pop()!;
  if (!path.startsWith(first) || path.length < first.length + last.length || !path.endsWith(last)) return false;
  let searchFrom = first.length;
  const end = path.length - last.length;
  for (const part of rest) {
    const foundAt = path.indexOf(part, searchFrom);
    if (foundAt < 0 || foundAt + part.length > end) return false;
    searchFrom = foundAt + part.length;
  }
  return true;
}
