/** URL prefix of the assets if none is configured. */
export const NO_BASE_PATH = "/";

const MAX_LENGTH = 500;

/**
 * Reads `base_path`, the path under which the assets are served. Resolves with a path that begins and ends with a
 * slash: "/docs/" for "docs", "/docs" and "/docs/"; or with the problem and its fix.
 */
export function readBasePath(value: string): { basePath: string } | { reason: string; fix: string } {
  const quoted = JSON.stringify(value.slice(0, MAX_LENGTH));
  const problem = (reason: string) => ({ reason: `${quoted} ${reason}`, fix: 'Write it as a path such as "/docs/".' });
  if (value === "") return problem("is empty");
  if (value.length > MAX_LENGTH) return problem(`has ${value.length} characters; ${MAX_LENGTH} are allowed`);
  if (/^(\/\/|[a-z][a-z\d+.-]*:)/i.test(value)) return problem("is a URL, not a path");
  // oxlint-disable-next-line no-control-regex
  const [unusable] = /[\\?#%\u0000-\u001f\u007f]/.exec(value) ?? [];
  if (unusable !== undefined) return problem(`contains ${JSON.stringify(unusable)}`);
  const segments: string[] = [];
  for (const segment of value.split("/")) {
    if (segment === "..") segments.pop();
    else if (segment !== "" && segment !== ".") segments.push(segment);
  }
  return { basePath: segments.length === 0 ? NO_BASE_PATH : `/${segments.join("/")}/` };
}

/** Returns the path of an asset below the base path, or undefined for a path outside it. Both are decoded. */
export function pathWithoutBase(basePath: string, path: string): string | undefined {
  if (path === basePath.slice(0, -1)) return "/";
  return path.startsWith(basePath) ? path.slice(basePath.length - 1) : undefined;
}

/** Returns the inverse of pathWithoutBase(). */
export const pathWithBase = (basePath: string, path: string): string => basePath.slice(0, -1) + path;
