import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import type { Project, FolderAsset } from "../../workers/project/index.ts";
import { plural } from "../print.ts";
import type { WorkerConnection } from "../worker-of.ts";
import { UPLOAD_TIMEOUT_MS } from "./timeouts.ts";

/** A project's assets, read from their directory for an upload. */
export interface PreparedAssets {
  files: FolderAsset[];
  /** Total size in bytes. */
  size: number;
  /** Value of `assets.config` in the upload metadata. */
  config: Record<string, unknown>;
  warnings: string[];
}

/** Throws folderUnreadable, tooManyFiles, fileTooLarge, workerFile. */
export async function prepareAssets(
  { compatibilityDate, compatibilityFlags }: Project,
  { directory, config }: NonNullable<Project["assets"]>,
): Promise<PreparedAssets> {
  const { compileRouting, listFolder, readRuleFile } = await import("../../workers/project/index.ts");
  const { assets, links } = listFolder(directory);
  const headers = readRuleFile(directory, "_headers");
  const redirects = readRuleFile(directory, "_redirects");
  const { problems } = compileRouting(
    { ...config, ...(headers !== undefined && { headers }), ...(redirects !== undefined && { redirects }) },
    { compatibilityDate, compatibilityFlags },
  );
  return {
    files: assets,
    size: assets.reduce((sum, { size }) => sum + size, 0),
    config: {
      html_handling: config.htmlHandling,
      not_found_handling: config.notFoundHandling,
      run_worker_first: config.runWorkerFirst,
      base_path: config.basePath,
      _headers: headers,
      _redirects: redirects,
    },
    warnings: [
      ...problems.map(({ file, problem }) => `${file}:${problem.line}: the line is ignored: ${problem.message}`),
      ...links.map((path) => `${path} is a symbolic link and is not uploaded`),
    ],
  };
}

const MAX_CONCURRENT_UPLOADS = 3;

/** Uploads the files that the server lacks. Returns the `assets` field of the upload metadata. */
export async function uploadAssets(
  { api, base, script, progress }: WorkerConnection,
  { files, config }: PreparedAssets,
): Promise<{ jwt: string; config: Record<string, unknown> }> {
  const hashedAssets: (FolderAsset & { hash: string })[] = [];
  // One file at a time: all files together may not fit into memory.
  for (const asset of files) hashedAssets.push({ ...asset, hash: await hashOf(asset) });
  const byHash = new Map(hashedAssets.map((asset) => [asset.hash, asset]));
  const manifest = Object.fromEntries(hashedAssets.map(({ path, hash, size }) => [path, { hash, size }]));
  const { jwt, buckets } = await api.result<{ jwt: string; buckets: string[][] }>(
    "POST",
    `${script}/assets-upload-session`,
    { json: { manifest }, timeoutMs: UPLOAD_TIMEOUT_MS },
  );
  const total = buckets.flat().length;
  let uploadedCount = 0;
  let completionToken = total === 0 ? jwt : undefined;
  const upload = async () => {
    for (let bucket = buckets.shift(); bucket !== undefined; bucket = buckets.shift()) {
      const hashes = bucket;
      const result = await api.result<{ jwt?: string }>("POST", `${base}/workers/assets/upload`, {
        query: { base64: true },
        headers: { authorization: `Bearer ${jwt}` },
        body: () => formOf(hashes.map((hash) => byHash.get(hash)!)),
        timeoutMs: UPLOAD_TIMEOUT_MS,
      });
      completionToken ??= result.jwt;
      uploadedCount += bucket.length;
      progress.step(`uploaded ${uploadedCount} of ${plural(total, "asset")}`);
    }
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT_UPLOADS }, upload));
  if (completionToken === undefined) throw new Error("the server did not complete the asset upload");
  return { jwt: completionToken, config };
}

/** Includes the extension, because it determines the content type. */
async function hashOf({ file, path }: FolderAsset): Promise<string> {
  const hash = createHash("sha256").update(await readFile(file));
  return hash.update(extname(path)).digest("hex").slice(0, 32);
}

async function formOf(assets: (FolderAsset & { hash: string })[]): Promise<FormData> {
  const { contentTypeOf } = await import("../../workers/project/index.ts");
  const form = new FormData();
  for (const { file, path, hash } of assets) {
    const content = (await readFile(file)).toString("base64");
    form.append(hash, new File([content], hash, { type: contentTypeOf(path) ?? "application/null" }));
  }
  return form;
}
