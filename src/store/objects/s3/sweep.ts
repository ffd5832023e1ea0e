import type { Clock } from "../../../kernel/index.ts";
import type { PartialsTable } from "../partials-table.ts";
import type { Multipart } from "./multipart.ts";
import { removeParts, TAIL_PREFIX, type S3PartialDeps } from "./partial.ts";
import type { S3Sdk } from "./client.ts";
import type { S3Requests } from "./requests.ts";

/** A partial object that has not changed for this long counts as abandoned. */
const ABANDONED_MS = 45 * 24 * 3_600_000;
/**
 * Uploads and tails of this age without a row belong to a process that was killed; younger ones may just have been
 * created.
 */
const ORPHANED_MS = 24 * 3_600_000;

interface SweepDeps extends Pick<S3PartialDeps, "remove"> {
  requests: S3Requests;
  table: PartialsTable;
  multipart: Multipart;
  clock: Pick<Clock, "now">;
}

/** Removes abandoned partial objects, and what killed processes have left behind: multipart uploads and tails. */
export async function sweepS3(deps: SweepDeps): Promise<void> {
  const { table, multipart, clock, remove } = deps;
  const now = clock.now();
  const uploads = new Set<string>();
  const tails = new Set<string>();
  for await (const row of table.all()) {
    if (now - row.updated_at > ABANDONED_MS) {
      const removed = await table.remove(row.key, row.writer);
      if (removed !== undefined) await removeParts(deps, removed);
      continue;
    }
    if (row.upload_id !== null) uploads.add(row.upload_id);
    if (row.tail_key !== null) tails.add(row.tail_key);
  }
  for await (const { key, uploadId } of orphanedUploads(deps.requests, now - ORPHANED_MS))
    if (!uploads.has(uploadId)) await multipart.abort(key, uploadId);
  for await (const key of orphanedTails(deps.requests, now - ORPHANED_MS)) if (!tails.has(key)) await remove(key);
}

async function* orphanedUploads(
  { sdk, location, send }: S3Requests,
  before: number,
): AsyncGenerator<{ key: string; uploadId: string }> {
  let marker: { KeyMarker?: string; UploadIdMarker?: string } | undefined = {};
  while (marker !== undefined) {
    const command: InstanceType<S3Sdk["ListMultipartUploadsCommand"]> = new sdk.ListMultipartUploadsCommand({
      Bucket: location.bucket,
      Prefix: location.prefix,
      ...marker,
    });
    const page = await send(location.prefix, (client, options) => client.send(command, options));
    for (const { Key = "", UploadId = "", Initiated } of page.Uploads ?? [])
      if (Initiated !== undefined && Initiated.getTime() < before && Key.startsWith(location.prefix))
        yield { key: Key.slice(location.prefix.length), uploadId: UploadId };
    marker =
      page.IsTruncated === true && page.NextKeyMarker !== undefined
        ? { KeyMarker: page.NextKeyMarker, ...(page.NextUploadIdMarker && { UploadIdMarker: page.NextUploadIdMarker }) }
        : undefined;
  }
}

async function* orphanedTails({ sdk, location, send }: S3Requests, before: number) {
  for (let after: string | undefined; ;) {
    const command = new sdk.ListObjectsV2Command({
      Bucket: location.bucket,
      Prefix: location.prefix + TAIL_PREFIX,
      ...(after !== undefined && { StartAfter: after }),
    });
    const page = await send(TAIL_PREFIX, (client, options) => client.send(command, options));
    for (const { Key = "", LastModified } of page.Contents ?? [])
      if (LastModified !== undefined && LastModified.getTime() < before) yield Key.slice(location.prefix.length);
    after = page.Contents?.at(-1)?.Key;
    if (page.IsTruncated !== true || after === undefined) return;
  }
}
