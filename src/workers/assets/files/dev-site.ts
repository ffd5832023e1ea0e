import { createReadStream, statSync } from "node:fs";
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { AssetsConfig } from "../config.ts";
import { ASSET_LIMITS } from "../limits.ts";
import { compileRouting, type AssetRouting } from "../site/routing.ts";
import { createAssetSite, type AssetSite } from "../site/site.ts";
import { contentTypeOf } from "./content-types.ts";
import { fileAt, IGNORE_FILE, createIgnorePredicate, readRuleFile } from "./folder.ts";
import type { AssetFiles } from "./port.ts";

/** Configuration of a worker's assets during development. */
export interface FolderSite {
  /** Absolute path. */
  directory: string;
  config: AssetsConfig;
  compatibilityDate: string;
  compatibilityFlags: readonly string[];
}

/**
 * Serves the assets in a directory, always from the current files, including `_headers`, `_redirects` and
 * `.assetsignore`. `current` returns the configuration. `onProblems` receives the ignored lines of rule files whenever
 * the rules change. An unreadable rule file is treated as empty.
 */
export function createFolderSite(current: () => FolderSite, onProblems: (lines: string[]) => void): AssetSite {
  let cachedRules: { key: string; routing: AssetRouting; isIgnored(path: string): boolean } | undefined;

  function rulesOf(site: FolderSite) {
    const { directory, config, compatibilityDate, compatibilityFlags } = site;
    const names = ["_headers", "_redirects", IGNORE_FILE];
    const key = JSON.stringify([site, ...names.map((name) => stampOf(join(directory, name)))]);
    if (cachedRules?.key === key) return cachedRules;
    const problems: string[] = [];
    const [headers, redirects, ignoreText] = names.map((name) => {
      try {
        return readRuleFile(directory, name);
      } catch (err) {
        problems.push((err as Error).message);
        return undefined;
      }
    });
    const routing = compileRouting(
      { ...config, ...(headers !== undefined && { headers }), ...(redirects !== undefined && { redirects }) },
      { compatibilityDate, compatibilityFlags },
    );
    for (const { file, problem } of routing.problems) problems.push(`${file}:${problem.line}: ${problem.message}`);
    cachedRules = { key, routing, isIgnored: createIgnorePredicate(ignoreText) };
    onProblems(problems);
    return cachedRules;
  }

  return createAssetSite(() => {
    const site = current();
    const { routing, isIgnored } = rulesOf(site);
    return { routing, files: folderFiles(site.directory, isIgnored) };
  });
}

function folderFiles(directory: string, isIgnored: (path: string) => boolean): AssetFiles {
  return {
    maxPathLength: () => ASSET_LIMITS.pathBytes,
    find(path) {
      const foundFile = fileAt(directory, path, isIgnored);
      if (foundFile === undefined) return undefined;
      const { file, stats } = foundFile;
      return {
        etag: createHash("sha256").update(`${path}\0${stats.size}\0${stats.mtimeMs}`).digest("hex").slice(0, 32),
        size: stats.size,
        contentType: contentTypeOf(path),
        async open(range) {
          // If the file shrinks meanwhile, the response ends early; if it grows, only the announced size is sent.
          return createReadStream(file, range ?? { start: 0, end: Math.max(0, stats.size - 1) });
        },
      };
    },
  };
}

/** Returns a value that changes when the file changes. */
function stampOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? -1;
}
