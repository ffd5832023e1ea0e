import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Platform } from "./platform.ts";

// The actual packages, from the clients directory. They are not dependencies of this project, so they are untyped here,
// as for a JavaScript user.
const requireClient = createRequire(join(import.meta.dirname, "..", "clients", "package.json"));
export const s3 = requireClient("@aws-sdk/client-s3");
export const { getSignedUrl } = requireClient("@aws-sdk/s3-request-presigner");

interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
}

/** Resolves with an API token as an access key: its id, and the SHA-256 of its value. */
export async function credentialsOf(platform: Platform): Promise<S3Credentials> {
  const { id } = await platform.ask<{ id: string }>("/user/tokens/verify");
  return { accessKeyId: id, secretAccessKey: createHash("sha256").update(platform.token).digest("hex") };
}

/** Creates a client without retries, so that a single failure fails the test. */
export const s3Client = (endpoint: string, credentials: S3Credentials, options: object = {}) =>
  new s3.S3Client({ endpoint, credentials, region: "auto", forcePathStyle: true, maxAttempts: 1, ...options });

/** Returns a check for `assert.rejects`. */
export const failsAs =
  (name: string, status: number) => (err: { name: string; $metadata: { httpStatusCode: number } }) => {
    assert.deepEqual([err.name, err.$metadata?.httpStatusCode], [name, status], String(err));
    return true;
  };
