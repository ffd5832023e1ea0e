import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { createS3Client, openBucket, startPrivateS3, type TestBucket } from "../../test/support/radosgw.ts";
import type { BenchContext } from "../harness/bench.ts";
import { startServerProcess } from "../harness/server-process.ts";
import { createLibrary, type Library } from "../segment-serve/library.ts";
import { createCall, type ReelpostMailServer } from "../smtp-accept/ours.ts";
import { createVideoClient, type VideoServer } from "../vod/server.ts";

/** `reelpost serve` on SQLite, with a video whose segments are all stored. */
export interface ObjectsServer {
  name: "folder" | "s3";
  url: string;
  pid: number;
  smtpPort: number;
  account: string;
  call: ReelpostMailServer["call"];
  video: VideoServer;
  library: Library;
  /** Requests to the S3 server so far. */
  requests(): Promise<number>;
}

const main = join(import.meta.dirname, "..", "..", "src", "cli", "main.ts");

/** Starts Ceph's S3 server, and removes it at the end. */
export async function startBucket(kit: BenchContext): Promise<TestBucket> {
  const server = await startPrivateS3();
  kit.onStop(() => server.stop());
  return openBucket({ after: (stop) => kit.onStop(stop) }, server);
}

/** Without `bucket`, objects are files in the data directory. */
export async function startObjectsServer(
  kit: BenchContext,
  { bucket, sinkPort }: { bucket?: TestBucket; sinkPort: number },
): Promise<ObjectsServer> {
  const name = bucket === undefined ? "folder" : "s3";
  const cwd = join(kit.dir, name);
  const library = await createLibrary(cwd);
  if (bucket !== undefined) await copyToBucket(library, bucket);
  let ready: { api: string; smtp: { port: number } } | undefined;
  const server = await startServerProcess({
    name: "reelpost serve",
    cwd,
    args: [main, "serve", "--json", "--data-dir", cwd, "--port", "0", "--smtp-port", "0", "--log-level", "warn"],
    env: {
      REELPOST_API_RATE_LIMIT: "0",
      REELPOST_AUTHENTICATION_ENABLED: "false",
      REELPOST_EMAIL_STORE_DAYS: "1",
      REELPOST_OUTBOUND_DELIVER: "smart_host",
      REELPOST_OUTBOUND_SMART_HOSTS: `smtp://127.0.0.1:${sinkPort}`,
      // Segments are read from the folder or from the local copies, instead of from memory.
      REELPOST_STREAM_SEGMENT_CACHE_MB: "0",
      ...(bucket !== undefined && { ...bucket.env, REELPOST_OBJECTS_URL: bucket.url }),
    },
    ready(line) {
      const event = JSON.parse(line) as { event?: string; url: string } & NonNullable<typeof ready>;
      if (event.event !== "ready") return undefined;
      ready = event;
      return event.url;
    },
  });
  kit.onStop(server.stop);
  const { account, token } = library;
  return {
    name,
    url: server.url,
    pid: server.pid,
    smtpPort: ready!.smtp.port,
    account,
    call: createCall(ready!.api, token),
    video: createVideoClient(server, { account, token }),
    library,
    async requests() {
      const text = await (await fetch(`${server.url}/metrics`)).text();
      const counts = text.matchAll(/^reelpost_object_store_requests_total\{.*\} (\d+)$/gm);
      return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
    },
  };
}

async function copyToBucket({ root, segments }: Library, bucket: TestBucket): Promise<void> {
  const client = createS3Client(bucket);
  for (const { file } of segments)
    await client.send(
      new PutObjectCommand({ Bucket: bucket.bucket, Key: file, Body: await readFile(join(root, file)) }),
    );
  client.destroy();
}
