import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Log } from "../../kernel/index.ts";

/** A script or a style sheet for browsers. */
interface Asset {
  /** For example `player.js`. */
  name: string;
  /** The name with a hash of the content: `player-1a2b3c4d5e6f.js`. */
  hashedName: string;
  type: string;
  body: Buffer;
  /** Resolves with the compressed body; each encoding is created once. */
  encoded(encoding: "br" | "gzip"): Promise<Buffer>;
}

export interface PlayerAssets {
  /** Finds an asset by plain name. Throws if it cannot be loaded, because the installation is broken. */
  get(name: string): Promise<Asset>;
  /** Finds an asset by plain or hashed name. */
  find(name: string): Promise<{ asset: Asset; exact: boolean } | undefined>;
}

const TYPES: Record<string, string> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  txt: "text/plain; charset=utf-8",
};
const HASHED_NAME = /^([a-z.-]+)-([0-9a-f]{12})\.(js|css)$/;

/**
 * The output of `npm run build`, included in the published package; in a checkout the sources are bundled on first use.
 */
const BUILT_FOLDER = join(import.meta.dirname, "../../web");
const SOURCES = join(import.meta.dirname, "../../../web");

export function createPlayerAssets({
  log,
  load = loadFiles,
}: {
  log: Log;
  load?: () => Promise<Map<string, Buffer>>;
}): PlayerAssets {
  let loading: Promise<Map<string, Asset>> | undefined;

  const loadAll = () => {
    loading ??= load()
      .then((files) => new Map([...files].map(([name, body]) => [name, assetOf(name, body)])))
      .catch((err: unknown) => {
        // A source that does not compile may be fixed while the server is running.
        loading = undefined;
        log.error({ err }, "stream: failed to bundle the player scripts");
        throw err;
      });
    return loading;
  };

  return {
    async get(name) {
      const asset = (await loadAll()).get(name);
      if (asset === undefined) throw new Error(`there is no ${name} among the player's files`);
      return asset;
    },
    async find(name) {
      const hashed = HASHED_NAME.exec(name);
      const asset = (await loadAll()).get(hashed === null ? name : `${hashed[1]}.${hashed[3]}`);
      return asset === undefined ? undefined : { asset, exact: asset.hashedName === name };
    },
  };
}

async function loadFiles(): Promise<Map<string, Buffer>> {
  if (!existsSync(BUILT_FOLDER)) return (await import("./bundle.ts")).bundleWeb(SOURCES);
  const entries = await readdir(BUILT_FOLDER, { withFileTypes: true });
  // The folder of the dashboard is next to these files.
  const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(BUILT_FOLDER, name))] as const)),
  );
}

function assetOf(name: string, body: Buffer): Asset {
  const dot = name.lastIndexOf(".");
  const hash = createHash("sha256").update(body).digest("hex").slice(0, 12);
  const encodedBodies: Partial<Record<"br" | "gzip", Promise<Buffer>>> = {};
  return {
    name,
    body,
    hashedName: `${name.slice(0, dot)}-${hash}${name.slice(dot)}`,
    type: TYPES[name.slice(dot + 1)] ?? "application/octet-stream",
    encoded: (encoding) => (encodedBodies[encoding] ??= encoding === "br" ? brotli(body) : zip(body, { level: 9 })),
  };
}

const zip = promisify(gzip);
/** 9 of 11: the last two levels take ten times as long for a size reduction of one percent. */
const brotli = (body: Buffer) =>
  promisify(brotliCompress)(body, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: body.length },
  });
