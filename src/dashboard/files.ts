import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Log } from "../kernel/index.ts";

/** A file that browsers load. */
export interface DashboardFile {
  type: string;
  body: Buffer;
  /** Strong, quoted. */
  etag: string;
  /** Resolves with the compressed body, created once; undefined if compression saves too little. */
  encoded(encoding: "br" | "gzip"): Promise<Buffer> | undefined;
}

export interface DashboardFiles {
  /** Finds a file by name, for example `main-1A2B3C4D.js`. Rejects if the files cannot be loaded or built. */
  find(name: string): Promise<DashboardFile | undefined>;
}

const TYPES: Record<string, string> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  png: "image/png",
  json: "application/json",
  txt: "text/plain; charset=utf-8",
  woff2: "font/woff2",
};

/**
 * The output of `npm run build`, included in the published package; in a checkout the sources are bundled on first use.
 */
const BUILT_FOLDER = join(import.meta.dirname, "../web/dashboard");
const SOURCES = join(import.meta.dirname, "../../web/dashboard");

/** Creates the files of the dashboard, loaded on first use. */
export function createDashboardFiles({
  log,
  load = loadFiles,
}: {
  log: Log;
  load?: () => Promise<Map<string, Buffer>>;
}): DashboardFiles {
  let loading: Promise<Map<string, DashboardFile>> | undefined;

  function loadAll() {
    loading ??= load()
      .then((files) => new Map([...files].map(([name, body]) => [name, fileOf(name, body)])))
      .catch((err: unknown) => {
        // A source that does not compile may be fixed while the server is running.
        loading = undefined;
        log.error({ err }, "dashboard: failed to bundle the pages");
        throw err;
      });
    return loading;
  }

  return { find: async (name) => (await loadAll()).get(name) };
}

async function loadFiles(): Promise<Map<string, Buffer>> {
  if (!existsSync(BUILT_FOLDER)) {
    const { bundleDashboard } = await import("./bundle.ts");
    return bundleDashboard(SOURCES);
  }
  const names = await readdir(BUILT_FOLDER);
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(BUILT_FOLDER, name))] as const)),
  );
}

function fileOf(name: string, body: Buffer): DashboardFile {
  const extension = name.slice(name.lastIndexOf(".") + 1);
  const encodedBodies: Partial<Record<"br" | "gzip", Promise<Buffer>>> = {};
  return {
    type: TYPES[extension] ?? "application/octet-stream",
    body,
    etag: `"${createHash("sha256").update(body).digest("hex").slice(0, 16)}"`,
    encoded: (encoding) =>
      extension === "woff2" || extension === "png" || body.length < 1000
        ? undefined
        : (encodedBodies[encoding] ??= encoding === "br" ? brotli(body) : promisify(gzip)(body, { level: 9 })),
  };
}

/** Quality 9 of 11: the last two levels take ten times as long for a size reduction of one percent. */
const brotli = (body: Buffer) =>
  promisify(brotliCompress)(body, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: body.length },
  });
