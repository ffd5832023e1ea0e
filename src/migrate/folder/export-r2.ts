import { bucketsOf, type Bucket, type V4Object } from "../kinds/r2.ts";
import { migrateErrors } from "../errors.ts";
import type { ItemProgress, PlannedItem } from "../port.ts";
import { apiPath, readCursorPages, inParallel, hasErrorStatus, keyPath } from "../requests.ts";
import { listItem, saveResult, unlessUnavailable, type ExportContext } from "./export-context.ts";
import { linesWithOffsets } from "./files.ts";
import { apiFile, objectFile, objectListFile } from "./layout.ts";

const SETTINGS = ["cors", "lifecycle", "domains/custom", "domains/managed"];

/** Plans the export of R2 buckets: a list of objects with their metadata, and each object as a file. */
export async function exportR2(context: ExportContext): Promise<PlannedItem[]> {
  const { source, paths, files } = context;
  const path = `${paths.source}/r2/buckets`;
  const buckets = await unlessUnavailable(context, path, bucketsOf(source.api, paths.source));
  if (buckets === undefined) return [];
  return [
    {
      ...listItem("R2 buckets"),
      apply: () => files.writeJson(apiFile(path), { buckets }),
    },
    ...buckets.map((bucket): PlannedItem => ({
      kind: "R2 bucket",
      key: `r2 ${bucket.name}`,
      name: bucket.name,
      action: "new",
      apply: (progress) => exportBucket(context, bucket, progress),
    })),
  ];
}

async function exportBucket(context: ExportContext, { name }: Bucket, progress: ItemProgress): Promise<void> {
  const { source, paths, files, signal } = context;
  const path = `${paths.source}/r2/buckets${apiPath`/${name}`}`;
  for (const setting of SETTINGS) await saveResult(context, `${path}/${setting}`);
  async function* list(): AsyncGenerator<string> {
    for await (const object of readCursorPages<V4Object>(source.api, `${path}/objects`, {
      query: { per_page: 1000 },
    }))
      yield `${JSON.stringify(object)}\n`;
  }
  await files.write(objectListFile(name), list());
  const lines = linesWithOffsets(files.find(objectListFile(name))!.path);
  await inParallel(lines, context.concurrency, async ({ line }) => {
    signal?.throwIfAborted();
    const object = JSON.parse(line.toString()) as V4Object;
    if (!isComplete(context, name, object)) await exportObject(context, { path, bucket: name, object, progress });
    context.count("R2 object", 1);
    progress.entries(1);
  });
  context.count("R2 bucket", 1);
}

/** A file has the size and the modification time of its object. */
function isComplete({ files }: ExportContext, bucket: string, { key, size, last_modified }: V4Object): boolean {
  const found = files.find(objectFile(bucket, key));
  return (
    found?.stats.size === size &&
    last_modified !== undefined &&
    Math.abs(found.stats.mtimeMs - Date.parse(last_modified)) < 1
  );
}

async function exportObject(
  { source, files }: ExportContext,
  { path, bucket, object, progress }: { path: string; bucket: string; object: V4Object; progress: ItemProgress },
): Promise<void> {
  const { key, size, last_modified } = object;
  const response = await source.api
    .raw("GET", `${path}/objects/${keyPath(key)}`, { timeoutMs: null })
    .catch((thrown: unknown) => {
      if (!hasErrorStatus(thrown, 404)) throw thrown;
      throw migrateErrors.incomplete({ what: `R2 object ${key}`, reason: "it was deleted during the export" });
    });
  async function* body(): AsyncGenerator<Uint8Array> {
    let received = 0;
    for await (const piece of response.body ?? []) {
      received += piece.length;
      progress.bytes(piece.length);
      yield piece;
    }
    if (received !== size)
      throw migrateErrors.incomplete({
        what: `R2 object ${key}`,
        reason: `it has ${received} instead of ${size} bytes`,
      });
  }
  await files.write(objectFile(bucket, key), body(), last_modified === undefined ? undefined : new Date(last_modified));
}
