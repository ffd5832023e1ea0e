import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestBucket } from "../../../../test/support/radosgw.ts";
import type { Scope } from "../../../../test/support/databases.ts";
import { silentLog, systemClock } from "../../../kernel/index.ts";
import type { Db } from "../../db/port.ts";
import { parseObjectsUrl } from "./address.ts";
import { openS3Objects, type S3Objects } from "./s3.ts";

export const temporaryFolder = (scope: Scope): string => {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-s3-"));
  scope.after(async () => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

/** Opens the bucket with the credentials of the test's S3 server. Closes it when `scope` ends. */
export async function openTestObjects(
  scope: Scope,
  { url, accessKeyId, secretAccessKey }: Pick<TestBucket, "url" | "accessKeyId" | "secretAccessKey">,
  db: Db,
  options: Partial<Parameters<typeof openS3Objects>[0]> = {},
): Promise<S3Objects> {
  const objects = await openS3Objects({
    location: parseObjectsUrl(url),
    db,
    scratch: temporaryFolder(scope),
    clock: systemClock,
    log: silentLog,
    credentials: { accessKeyId, secretAccessKey },
    ...options,
  });
  scope.after(async () => objects.close());
  return objects;
}

/** Returns `length` bytes, from offset `start` of an endless sequence without a short period. */
export function bytesAt(start: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  for (let at = 0; at < length; at++) bytes[at] = ((start + at) * 2_654_435_761) >>> 13;
  return bytes;
}
