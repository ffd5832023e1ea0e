import type { AssetsConfig } from "../config.ts";

/** The file for a path, or the path of a redirect. Paths are decoded. */
type Target<File> = { file: File; status: 200 | 404 } | { redirect: string };

interface AssetLookup<File> {
  find(path: string): File | undefined;
  /** Returns the same string for files with the same content. */
  contentOf(file: File): string;
  /** Length of the longest path, in characters. */
  maxPathLength(): number;
}

type Handling = Required<Pick<AssetsConfig, "htmlHandling" | "notFoundHandling">>;

/** A candidate: the file at this path, or a redirect to a path that serves `file`. */
type Candidate = string | { redirect: string; file: string };

/**
 * Finds the asset for a path by the published rules for HTML files and missing files:
 * https://developers.cloudflare.com/workers/static-assets/routing/advanced/html-handling/
 */
export function findTarget<File>(
  path: string,
  { htmlHandling, notFoundHandling }: Handling,
  lookup: AssetLookup<File>,
): Target<File> | undefined {
  return findExisting(path, htmlHandling, lookup) ?? findNotFoundPage(path, notFoundHandling, lookup);
}

function findExisting<File>(
  path: string,
  handling: Handling["htmlHandling"],
  lookup: AssetLookup<File>,
): Target<File> | undefined {
  for (const step of CANDIDATES[handling](path)) {
    if (typeof step === "string") {
      const file = lookup.find(step);
      if (file !== undefined) return { file, status: 200 };
    } else if (doesRedirectReach(step, handling, lookup)) return { redirect: step.redirect };
  }
  return undefined;
}

/** True if the redirect leads to the file itself in one step. Another file may own the canonical path. */
function doesRedirectReach<File>(
  { redirect, file }: Exclude<Candidate, string>,
  handling: Handling["htmlHandling"],
  { find, contentOf }: AssetLookup<File>,
): boolean {
  const targetFile = find(file);
  if (targetFile === undefined || find(redirect) !== undefined) return false;
  for (const step of CANDIDATES[handling](redirect)) {
    const servedFile = typeof step === "string" ? find(step) : undefined;
    if (servedFile !== undefined) return contentOf(servedFile) === contentOf(targetFile);
  }
  return false;
}

function findNotFoundPage<File>(
  path: string,
  handling: Handling["notFoundHandling"],
  { find, maxPathLength: longestPath }: AssetLookup<File>,
): Target<File> | undefined {
  if (handling === "none") return undefined;
  if (handling === "single-page-application") {
    const file = find("/index.html");
    return file && { file, status: 200 };
  }
  // The 404 page of the nearest parent folder.
  let folder = path.slice(0, longestPath());
  while (folder !== "") {
    folder = folder.slice(0, folder.lastIndexOf("/"));
    const file = find(`${folder}/404.html`);
    if (file !== undefined) return { file, status: 404 };
  }
  return undefined;
}

const to = (redirect: string, file: string): Candidate => ({ redirect, file });

/** For each mode, the candidates for a path in order of precedence. */
const CANDIDATES: Record<Handling["htmlHandling"], (path: string) => Candidate[]> = {
  none: (path) => [path],
  "auto-trailing-slash": (path) => [
    ...candidatesByEnding(path, {
      index: (base) => [path, to(`${base}/`, `${path}.html`), to(base, `${base}.html`)],
      indexFile: (base) => [to(`${base}/`, path), to(base, `${base}.html`)],
      slash: (base) => [`${path}index.html`, to(base, `${base}.html`)],
      html: (base) => [to(base, path), to(`${base}/`, `${base}/index.html`)],
    }),
    path,
    `${path}.html`,
    to(`${path}/`, `${path}/index.html`),
  ],
  "force-trailing-slash": (path) => [
    ...candidatesByEnding(path, {
      index: (base) => [path, to(`${base}/`, `${path}.html`), to(`${base}/`, `${base}.html`)],
      indexFile: (base) => [to(`${base}/`, path), to(`${base}/`, `${base}.html`)],
      slash: (base) => [`${path}index.html`, `${base}.html`],
      html: (base) => [to(`${base}/`, path), path, to(`${base}/`, `${base}/index.html`)],
    }),
    path,
    to(`${path}/`, `${path}.html`),
    to(`${path}/`, `${path}/index.html`),
  ],
  "drop-trailing-slash": (path) => [
    ...candidatesByEnding(path, {
      index: (base) => [
        path,
        ...(base === "" ? [to("/", "/index.html")] : [to(base, `${base}.html`), to(base, `${path}.html`)]),
      ],
      indexFile: (base) => (base === "" ? [to("/", path)] : [to(base, path), path, to(base, `${base}.html`)]),
      slash: (base) => (base === "" ? ["/index.html"] : [to(base, `${base}.html`), to(base, `${base}/index.html`)]),
      html: (base) => [to(base, path), to(base, `${base}/index.html`)],
    }),
    path,
    `${path}.html`,
    `${path}/index.html`,
  ],
};

interface Endings {
  index(base: string): Candidate[];
  indexFile(base: string): Candidate[];
  slash(base: string): Candidate[];
  html(base: string): Candidate[];
}

/** Calls the function for the ending of the path. `base` is the path without that ending. */
function candidatesByEnding(path: string, { index, indexFile, slash, html }: Endings): Candidate[] {
  const withoutEnding = (ending: string) => path.slice(0, -ending.length);
  if (path.endsWith("/index")) return index(withoutEnding("/index"));
  if (path.endsWith("/index.html")) return indexFile(withoutEnding("/index.html"));
  if (path.endsWith("/")) return slash(withoutEnding("/"));
  return path.endsWith(".html") ? html(withoutEnding(".html")) : [];
}
