import { createHash } from "node:crypto";
import type * as Sdk from "@aws-sdk/client-s3";
import type { S3Location } from "./address.ts";

export type S3Sdk = typeof Sdk;
export type S3Client = Sdk.S3Client;

const CONNECT_TIMEOUT_MS = 5_000;
/** A connection that is idle for this long is closed. */
const IDLE_TIMEOUT_MS = 30_000;
/** Exceeds the limit of concurrent requests, because slow readers of large objects hold connections, too. */
const MAX_CONNECTIONS = 512;

interface ClientOptions {
  /** Default: environment variables, configuration files, web identity, container and instance roles. */
  credentials?: { accessKeyId: string; secretAccessKey: string } | undefined;
  /** Added to the time of this machine, for tests. */
  clockOffsetMs?: number | undefined;
}

/** Loads the SDK on demand, because that takes about 100 ms and only servers with objects in S3 need it. */
export async function createS3Client(
  { endpoint, region, pathStyle }: S3Location,
  { credentials, clockOffsetMs }: ClientOptions = {},
): Promise<{ sdk: S3Sdk; client: S3Client }> {
  const sdk = await import("@aws-sdk/client-s3");
  const client = new sdk.S3Client({
    forcePathStyle: pathStyle,
    ...(endpoint !== undefined && { endpoint }),
    // Servers other than AWS ignore the region, but the signature must contain one.
    ...((region !== undefined || endpoint !== undefined) && { region: region ?? "us-east-1" }),
    ...(credentials && { credentials }),
    ...(clockOffsetMs !== undefined && { systemClockOffset: clockOffsetMs }),
    // Many servers reject the CRC32 trailers that the SDK sends by default. The signature contains the SHA-256 of each
    // body.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    // `Expect: 100-continue` costs a round trip for each body.
    expectContinueHeader: false,
    // Retries are in requests.ts.
    maxAttempts: 1,
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: IDLE_TIMEOUT_MS,
      httpAgent: { keepAlive: true, maxSockets: MAX_CONNECTIONS },
      httpsAgent: { keepAlive: true, maxSockets: MAX_CONNECTIONS },
    },
  });
  addContentMd5(client);
  return { sdk, client };
}

/** S3 requires a checksum for DeleteObjects. Older servers accept only Content-MD5, but the SDK sends only CRC32. */
function addContentMd5(client: S3Client): void {
  client.middlewareStack.add(
    (next, context) => (args) => {
      const { request } = args as { request?: { body?: unknown; headers: Record<string, string> } };
      if (context.commandName === "DeleteObjectsCommand" && request !== undefined) {
        const { body } = request;
        if (typeof body === "string" || body instanceof Uint8Array)
          request.headers["content-md5"] = createHash("md5").update(body).digest("base64");
      }
      return next(args);
    },
    { step: "build", name: "contentMd5" },
  );
}
