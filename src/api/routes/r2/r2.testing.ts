import { TEST_ACCOUNT } from "../../api.testing.ts";
import { startStorageApi } from "../storage.testing.ts";

/** Helpers for the tests of this folder. */

/** The path of the buckets. */
export const base = `/accounts/${TEST_ACCOUNT}/r2/buckets`;
export const MiB = 1024 * 1024;

/** Starts an API with one empty bucket, named "bucket". `objects` is the path of its objects. */
export async function startWithBucket(...args: Parameters<typeof startStorageApi>) {
  const started = await startStorageApi(...args);
  await started.call("post", base, { body: { name: "bucket" } });
  const { id } = (await started.r2.bucketList.get(TEST_ACCOUNT, "bucket"))!;
  const objects = `${base}/bucket/objects`;
  return {
    ...started,
    id,
    objects,
    keys: async () => (await started.r2.buckets.list(id)).objects.map(({ key }) => key),
  };
}

/** Returns the status, and the code and message of the first error. */
export const codes = (answer: { status: number; body: { errors: { code: number; message: string }[] } }) => [
  answer.status,
  answer.body.errors[0]!.code,
  answer.body.errors[0]!.message,
];
