import { mkdtemp, open, readFile, rm, stat } from "node:fs/promises";
import { createReadStream } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { DatabaseSync } from "node:sqlite";
import { messageOf } from "../../kernel/index.ts";
import { migrateErrors } from "../errors.ts";
import type { V4Video } from "../kinds/video.ts";
import type { Area } from "../port.ts";
import { createFiles, linesWithOffsets, type Files } from "./files.ts";
import {
  apiFile,
  audioFile,
  captionsFile,
  codeFile,
  databaseFile,
  moduleFile,
  namespaceFile,
  objectFile,
  objectListFile,
  videoFileIn,
  videoFolder,
  watermarkFile,
  type CodeDescription,
  type KvLine,
} from "./layout.ts";
import { readExportManifest, type ExportManifest } from "./manifest.ts";
import { loadSqlDump } from "./sql-dump.ts";

/** Requests to this host are served from the folder; the name is never resolved (RFC 6761 6.4). */
const ORIGIN = "http://export.invalid";
const API = "/client/v4/";
const PAGE = 1000;

/** An exported account as the source of an import. */
interface ExportedAccount {
  manifest: ExportManifest;
  /** Base URL of the v4 API that `fetch` serves. */
  url: string;
  fetch: typeof fetch;
  /** Returns the parts that can be imported. Throws exportIncomplete if one of the requested parts is incomplete. */
  partsOf(requested: readonly Area[]): Area[];
  close(): Promise<void>;
}

/** The keys of a namespace as the API lists them, and the positions of their lines in the file. */
interface KeyIndex {
  listed: { name: string; expiration?: number; metadata?: unknown }[];
  lines: Map<string, { start: number; length: number }>;
}

interface FolderContext {
  files: Files;
  manifest: ExportManifest;
  keysOf(namespace: string): Promise<KeyIndex>;
  databaseOf(id: string): Promise<DatabaseSync>;
}

/** Opens the folder of an export. Throws noExport, exportUnfinished, manifestUnreadable. */
export async function openExport(root: string): Promise<ExportedAccount> {
  const files = createFiles(root);
  const manifest = await readExportManifest(files);
  const indexes = new Map<string, Promise<KeyIndex>>();
  const databases = new Map<string, Promise<DatabaseSync>>();
  let temporary: Promise<string> | undefined;
  const context: FolderContext = {
    files,
    manifest,
    keysOf(namespace) {
      if (!indexes.has(namespace)) indexes.set(namespace, indexOf(files, namespace));
      return indexes.get(namespace)!;
    },
    databaseOf(id) {
      temporary ??= mkdtemp(join(tmpdir(), "reelpost-import-"));
      const name = `${databases.size}.db`;
      if (!databases.has(id))
        databases.set(
          id,
          temporary.then((folder) => loadSqlDump(pathOf(files, databaseFile(id)), join(folder, name))),
        );
      return databases.get(id)!;
    },
  };

  return {
    manifest,
    url: ORIGIN + API.slice(0, -1),
    fetch: async (input, init = {}) => {
      init.signal?.throwIfAborted();
      const url = new URL(input instanceof Request ? input.url : input);
      return answer(context, url, init).catch((thrown: unknown) => {
        if (thrown instanceof NotInExport) return refuse(404, thrown.message);
        return refuse(422, `cannot read the export: ${messageOf(thrown)}`);
      });
    },
    partsOf(requested) {
      const parts = requested.filter((part) => manifest.parts.includes(part));
      const names = manifest.failed
        .filter(({ kind }) => parts.some((part) => NEEDED_KINDS[part].includes(kind)))
        .map(({ kind, name }) => `${kind} ${name}`);
      if (names.length > 0) throw migrateErrors.exportIncomplete({ path: root, names: names.slice(0, 5).join(", ") });
      return parts;
    },
    async close() {
      for (const database of databases.values()) (await database.catch(() => undefined))?.close();
      if (temporary !== undefined) await rm(await temporary, { recursive: true, force: true });
    },
  };
}

/**
 * Kinds of exported items without which a part cannot be imported. A video without its file does not stop the others.
 */
const NEEDED_KINDS: Record<Area, readonly string[]> = {
  zones: ["zones", "zone"],
  email: ["zones", "zone", "addresses"],
  workers: ["zones", "zone", "workers", "worker", "KV namespaces", "D1 databases"],
  kv: ["KV namespaces", "KV namespace"],
  r2: ["R2 buckets", "R2 bucket"],
  d1: ["D1 databases", "D1 database"],
  stream: ["Stream"],
  live: ["live inputs"],
};

class NotInExport extends Error {}

function pathOf(files: Files, path: string): string {
  const found = files.find(path);
  if (found === undefined) throw new NotInExport(`The export does not contain ${path}.`);
  return found.path;
}

const refuse = (status: number, message: string) =>
  Response.json({ success: false, errors: [{ code: status, message }], messages: [], result: null }, { status });

const succeed = (result: unknown, info: Record<string, unknown> | null = null) =>
  Response.json({ success: true, errors: [], messages: [], result, result_info: info });

async function answer(context: FolderContext, url: URL, init: RequestInit): Promise<Response> {
  const { files, manifest } = context;
  const path = url.pathname.startsWith(API) ? url.pathname.slice(API.length) : undefined;
  const range = new Headers(init.headers).get("range");
  if (path === undefined) return respondWithFile(context, url.pathname, range);
  const reason = manifest.refused[`/${path}`];
  if (reason !== undefined) return refuse(403, `the export had no access: ${reason}`);
  const segments = path.split("/").map(decodeURIComponent);
  const [, , product, ...rest] = segments;
  const isPost = init.method === "POST";
  const json = typeof init.body === "string" ? (JSON.parse(init.body) as Record<string, unknown>) : {};
  const found =
    product === "storage" && rest[1] === "namespaces" && rest.length > 3
      ? await answerKv(context, rest.slice(2), url.searchParams, json)
      : product === "r2" && rest[2] === "objects"
        ? await answerR2(files, rest[1]!, rest.slice(3).join("/"), url.searchParams)
        : product === "d1" && isPost
          ? await answerD1(context, rest[1]!, rest[2]!, json)
          : product === "workers" && rest[2] === "content"
            ? await answerCode(files, rest[1]!)
            : product === "stream"
              ? await answerStream(context, rest, isPost, json)
              : undefined;
  return found ?? answerJson(files, `/${path}`);
}

/** Resolves with the saved result of a GET request. */
async function answerJson(files: Files, path: string): Promise<Response> {
  const file = apiFile(path);
  pathOf(files, file);
  const result = await files.readJson(file);
  return succeed(
    result,
    Array.isArray(result)
      ? { page: 1, per_page: result.length, count: result.length, total_count: result.length }
      : null,
  );
}

async function indexOf(files: Files, namespace: string): Promise<KeyIndex> {
  const index: KeyIndex = { listed: [], lines: new Map() };
  for await (const { line, start } of linesWithOffsets(pathOf(files, namespaceFile(namespace)))) {
    const { key, expiration, metadata } = JSON.parse(line.toString()) as KvLine;
    index.listed.push({
      name: key,
      ...(expiration !== undefined && { expiration }),
      ...(metadata !== undefined && { metadata }),
    });
    index.lines.set(key, { start, length: line.length });
  }
  return index;
}

async function answerKv(
  context: FolderContext,
  [namespace, action, ...rest]: string[],
  query: URLSearchParams,
  json: Record<string, unknown>,
): Promise<Response | undefined> {
  const keys = await context.keysOf(namespace!);
  if (action === "keys") {
    const start = Number(query.get("cursor") ?? 0);
    const end = start + PAGE;
    return succeed(keys.listed.slice(start, end), { cursor: end < keys.listed.length ? String(end) : "" });
  }
  if (action === "values") {
    const value = await valueOf(context.files, namespace!, keys, rest[0]!);
    if (value === undefined) return refuse(404, `The key ${rest[0]} is not in the export.`);
    return new Response(new Uint8Array(value.content));
  }
  if (action !== "bulk") return undefined;
  const values: Record<string, string | null> = {};
  for (const key of json["keys"] as string[]) {
    const value = await valueOf(context.files, namespace!, keys, key);
    values[key] = value?.isText === true ? value.content.toString() : null;
  }
  return succeed({ values });
}

async function valueOf(
  files: Files,
  namespace: string,
  keys: KeyIndex,
  key: string,
): Promise<{ content: Buffer; isText: boolean } | undefined> {
  const position = keys.lines.get(key);
  if (position === undefined) return undefined;
  const file = await open(pathOf(files, namespaceFile(namespace)));
  try {
    const { buffer } = await file.read(Buffer.alloc(position.length), 0, position.length, position.start);
    const { value, base64 } = JSON.parse(buffer.toString()) as KvLine;
    return { content: Buffer.from(value, base64 === true ? "base64" : "utf8"), isText: base64 !== true };
  } finally {
    await file.close();
  }
}

async function answerR2(files: Files, bucket: string, key: string, query: URLSearchParams): Promise<Response> {
  if (key !== "") return fileResponse(pathOf(files, objectFile(bucket, key)), null);
  const objects: unknown[] = [];
  let next = "";
  for await (const { line, start } of linesWithOffsets(
    pathOf(files, objectListFile(bucket)),
    Number(query.get("cursor") ?? 0),
  )) {
    if (objects.length === PAGE) {
      next = String(start);
      break;
    }
    objects.push(JSON.parse(line.toString()));
  }
  return succeed(objects, { per_page: PAGE, ...(next !== "" && { cursor: next }) });
}

/** Queries that compare the rows run on a copy of the database, which is created from the dump. */
async function answerD1(
  { files, databaseOf }: FolderContext,
  id: string,
  action: string,
  json: Record<string, unknown>,
): Promise<Response> {
  const dump = databaseFile(id);
  pathOf(files, dump);
  if (action === "export")
    return succeed({
      status: "complete",
      success: true,
      result: { signed_url: `${ORIGIN}/d1/${encodeURIComponent(id)}` },
    });
  const statement = (await databaseOf(id)).prepare(String(json["sql"]));
  statement.setReturnArrays(true);
  statement.setReadBigInts(true);
  const rows = statement.all(...((json["params"] ?? []) as string[])) as unknown as unknown[][];
  const columns = statement.columns().map(({ name }) => name);
  return succeed([{ success: true, results: { columns, rows: rows.map((row) => row.map(jsonValue)) } }]);
}

/** Converts integers to JSON numbers, as the API returns them. */
const jsonValue = (value: unknown) => (typeof value === "bigint" ? Number(value) : value);

async function answerCode(files: Files, name: string): Promise<Response> {
  pathOf(files, codeFile(name));
  const { main, format, modules } = (await files.readJson(codeFile(name))) as CodeDescription;
  const contents = await Promise.all(
    modules.map(async (module) => ({
      ...module,
      content: await readFile(pathOf(files, moduleFile(name, module.name))),
    })),
  );
  const headers = { "cf-entrypoint": encodeURI(main) };
  if (format === "service-worker" || contents.length === 0)
    return new Response(new Uint8Array(contents[0]?.content ?? []), {
      headers: { ...headers, "content-type": "application/javascript" },
    });
  const form = new FormData();
  for (const module of contents)
    form.set(module.name, new File([new Uint8Array(module.content)], module.name, { type: module.type }));
  return new Response(form, { headers });
}

async function answerStream(
  context: FolderContext,
  [first, second, ...rest]: string[],
  isPost: boolean,
  json: Record<string, unknown>,
): Promise<Response | undefined> {
  const { files } = context;
  if (first === undefined) {
    const list = apiFile(streamPath(context.manifest));
    pathOf(files, list);
    const videos = (await files.readJson(list)) as V4Video[];
    return succeed(videos.map((video) => ({ ...video, preview: `${ORIGIN}/videos/${video.uid}/watch` })));
  }
  if (first === "watermarks" && rest[0] === "image") return fileResponse(pathOf(files, watermarkFile(second!)), null);
  if (second === "captions" && rest[1] === "vtt")
    return fileResponse(pathOf(files, captionsFile(first, rest[0]!)), null);
  const file = videoFileIn(files.list(videoFolder(first)));
  if (second === "token" && isPost) {
    const needsOriginal = (json["flags"] as { original?: boolean } | undefined)?.original === true;
    if (needsOriginal && file?.isOriginal !== true)
      return refuse(404, "The export does not contain the uploaded file.");
    // The folder needs no credential.
    return succeed({ token: first });
  }
  if (second !== "downloads") return undefined;
  if (file === undefined) return refuse(404, `The export does not contain the file of video ${first}.`);
  return succeed({ default: { status: "ready", url: `${ORIGIN}/videos/${first}/downloads/default.mp4` } });
}

const streamPath = ({ source }: ExportManifest) => `/accounts/${encodeURIComponent(source.account)}/stream`;

/** Responds with files that URLs in the results refer to. */
async function respondWithFile(context: FolderContext, pathname: string, range: string | null): Promise<Response> {
  const { files } = context;
  const [, kind, id = "", ...rest] = pathname.split("/").map(decodeURIComponent);
  if (kind === "d1") return fileResponse(pathOf(files, databaseFile(id)), range);
  if (rest[0] === "downloads") {
    const file = videoFileIn(files.list(videoFolder(id)));
    return fileResponse(pathOf(files, `${videoFolder(id)}/${file?.name ?? "original"}`), range);
  }
  // The HLS playlist of a video lists its audio tracks, each as one segment (RFC 8216).
  const tracks = await audioLabels(context, id);
  if (rest[0] === "manifest")
    return new Response(
      ["#EXTM3U", ...tracks.map((label, i) => `#EXT-X-MEDIA:TYPE=AUDIO,NAME="${label}",URI="../audio/${i}.m3u8"`)].join(
        "\n",
      ),
    );
  const [, index, extension] = /^(\d+)\.(m3u8|mp4)$/.exec(rest[1] ?? "") ?? [];
  if (extension === "m3u8") return new Response(`#EXTM3U\n#EXTINF:1,\n${index}.mp4\n`);
  return fileResponse(pathOf(files, audioFile(id, tracks[Number(index)] ?? "")), range);
}

async function audioLabels({ files, manifest }: FolderContext, uid: string): Promise<string[]> {
  const file = apiFile(`${streamPath(manifest)}/${encodeURIComponent(uid)}/audio`);
  if (files.find(file) === undefined) return [];
  const saved = (await files.readJson(file)) as { audio?: { label: string }[] } | { label: string }[];
  return (Array.isArray(saved) ? saved : (saved.audio ?? [])).map(({ label }) => label);
}

/** Resolves with the file, or the bytes of a single range (RFC 9110 14.2). */
async function fileResponse(path: string, range: string | null): Promise<Response> {
  const { size } = await stat(path);
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(range ?? "") ?? [];
  const start = Number(first ?? 0);
  const end = Math.min(size - 1, Number(last ?? size - 1));
  const body = size === 0 ? null : (Readable.toWeb(createReadStream(path, { start, end })) as ReadableStream);
  return new Response(body, {
    status: first === undefined ? 200 : 206,
    headers: {
      "content-length": String(end - start + 1),
      ...(first !== undefined && { "content-range": `bytes ${start}-${end}/${size}` }),
    },
  });
}
