import { isUnsupported } from "./errors.ts";
import type { S3Requests } from "./requests.ts";

/** S3's limit for a request. */
const BATCH = 1000;
const SINGLE_AT_ONCE = 16;

/** Deletes objects. Ignores missing ones. */
export async function deleteS3Objects(requests: S3Requests, keys: readonly string[]): Promise<void> {
  if (keys.length === 1) return deleteOne(requests, keys[0]!);
  for (let start = 0; start < keys.length; start += BATCH)
    await deleteBatch(requests, keys.slice(start, start + BATCH));
}

async function deleteOne({ sdk, at, send }: S3Requests, key: string): Promise<void> {
  await send(key, (client, options) => client.send(new sdk.DeleteObjectCommand(at(key)), options));
}

async function deleteBatch(requests: S3Requests, keys: readonly string[]): Promise<void> {
  const { sdk, at, send, location } = requests;
  try {
    await send(`${keys.length} objects`, async (client, options) => {
      const command = new sdk.DeleteObjectsCommand({
        Bucket: location.bucket,
        Delete: { Objects: keys.map((key) => ({ Key: at(key).Key })), Quiet: true },
      });
      const { Errors = [] } = await client.send(command, options);
      const [first] = Errors.filter(({ Code }) => Code !== "NoSuchKey");
      if (first === undefined) return;
      // The response to a batch is 200 even if the server could not delete some objects.
      const status = /^(AccessDenied|AllAccessDisabled)$/.test(first.Code ?? "") ? 403 : 500;
      throw Object.assign(new Error(first.Message ?? `failed to delete ${first.Key}`), {
        name: first.Code ?? "InternalError",
        $metadata: { httpStatusCode: status },
      });
    });
  } catch (err) {
    // Google Cloud Storage has no DeleteObjects.
    if (!isUnsupported(err)) throw err;
    let next = 0;
    const deleteRest = async () => {
      for (let index = next++; index < keys.length; index = next++) await deleteOne(requests, keys[index]!);
    };
    await Promise.all(Array.from({ length: SINGLE_AT_ONCE }, deleteRest));
  }
}
