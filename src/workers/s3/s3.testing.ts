import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, request as httpRequest, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { createManualClock, listen, randomIds, silentLog } from "../../kernel/index.ts";
import { createFailureWindows } from "../../kernel/failure-windows.ts";
import {
  canonicalRequest,
  decodeQuery,
  sha256Hex,
  signingKey,
  signRequest,
  type CredentialScope,
} from "../../protocol/aws-sigv4/index.ts";
import { migrate, openSqlite } from "../../store/index.ts";
import { openWriteOnceObjects } from "../../store/objects/write-once.testing.ts";
import { createR2Service, r2Migrations } from "../bindings/r2/index.ts";
import { bucketSettingsMigrations, createBucketSettings } from "../bucket-settings/index.ts";
import type { S3Key } from "./authenticate.ts";
import { createS3HttpHandler } from "./http.ts";

export const ACCOUNT = "a".repeat(32);
export const DOMAIN = "r2.test";

export interface TestRequest {
  method?: string;
  /** Path under the endpoint: `/bucket/key?query`. */
  path: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  secret?: string;
  accessKeyId?: string;
  /** Value of x-amz-content-sha256. Default: the hash of the body. */
  payloadHash?: string;
  /** Time of the signature in epoch milliseconds. Default: the time of the test clock. */
  signedAt?: number;
  /** Sends a presigned URL that is valid for this number of seconds. */
  expires?: number;
  /** Headers that are sent but not signed. */
  unsignedHeaders?: Record<string, string>;
  /** Sends no signature. */
  anonymous?: boolean;
  service?: string;
  host?: string;
}

interface TestResponse {
  status: number;
  headers: IncomingMessage["headers"];
  text: string;
  /** The code in an error document. */
  code: string | undefined;
}

/** Starts the S3 API over HTTP on SQLite. Tests can add access keys. */
export async function startS3(
  t: TestContext,
  {
    failures = 0,
    ...options
  }: Partial<Pick<Parameters<typeof createS3HttpHandler>[0], "pagesNeedCors" | "bodyMemory">> & {
    failures?: number;
  } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), "s3-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, [...r2Migrations, ...bucketSettingsMigrations]);
  const clock = createManualClock(Math.floor(Date.now() / 1000) * 1000);
  const settings = createBucketSettings({ db, clock, ids: randomIds });
  const r2 = createR2Service({
    db,
    objects: await openWriteOnceObjects({ folder: join(folder, "objects") }),
    clock,
    limits: { minimumPartBytes: 10 },
    onRemoved: settings.removeBucket,
  });
  const keys = new Map<string, S3Key>([["key", { secret: "secret", allows: () => true }]]);
  const s3 = createS3HttpHandler({
    ...r2,
    settings,
    findKey: async (id) => keys.get(id),
    endpoints: { domain: DOMAIN, prefix: "/s3/", accountInPath: true },
    clientIp: ({ socket }) => socket.remoteAddress,
    ...options,
    failures: createFailureWindows({ failures, seconds: 300 }, clock),
    clock,
    ids: randomIds,
    log: silentLog,
  });
  const server = createServer((request, response) => void s3.handle(request, response));
  const { port } = await listen(server, { host: "127.0.0.1", port: 0 });
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await r2.buckets.close();
    await db.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function send(testRequest: TestRequest): Promise<TestResponse> {
    const host = testRequest.host ?? `127.0.0.1:${port}`;
    const path = testRequest.host === undefined ? `/s3/${ACCOUNT}${testRequest.path}` : testRequest.path;
    const { target, headers } = sign({ ...testRequest, path, host, signedAt: testRequest.signedAt ?? clock.now() });
    const clientRequest = httpRequest({
      host: "127.0.0.1",
      port,
      method: testRequest.method ?? "GET",
      path: target,
      headers,
      agent: false,
    });
    // The server may respond, and close the connection, before it has read the body.
    clientRequest.on("error", () => {});
    clientRequest.end(testRequest.body);
    const [response] = (await once(clientRequest, "response")) as [IncomingMessage];
    const text = Buffer.concat((await response.toArray()) as Buffer[]).toString();
    return {
      status: response.statusCode!,
      headers: response.headers,
      text,
      code: /<Code>(\w+)<\/Code>/.exec(text)?.[1],
    };
  }
  const put = (key: string, body: string, headers: Record<string, string> = {}) =>
    send({ method: "PUT", path: `/bucket/${key}`, body, headers });

  await r2.bucketList.create(ACCOUNT, "bucket");
  return { send, put, keys, clock, settings, r2, port, id: (await r2.bucketList.get(ACCOUNT, "bucket"))!.id };
}

/** Signs a request, and returns its target and headers. */
export function sign({
  method = "GET",
  path: pathAndQuery,
  headers: givenHeaders = {},
  body = "",
  secret = "secret",
  accessKeyId = "key",
  payloadHash,
  signedAt = 0,
  expires,
  unsignedHeaders = {},
  anonymous = false,
  service = "s3",
  host = "",
}: TestRequest): { target: string; headers: Record<string, string> } {
  const time = `${new Date(signedAt).toISOString().replace(/[-:]/g, "").slice(0, 15)}Z`;
  const scope: CredentialScope = { day: time.slice(0, 8), region: "auto", service };
  const length = { "content-length": String(Buffer.byteLength(body)) };
  const credential = `${accessKeyId}/${scope.day}/auto/${service}/aws4_request`;
  const [path = "/", query = ""] = pathAndQuery.split("?", 2);
  if (anonymous) return { target: pathAndQuery, headers: { host, ...givenHeaders, ...length, ...unsignedHeaders } };
  const key = signingKey(secret, scope);
  if (expires !== undefined) {
    const names = ["host", ...Object.keys(givenHeaders)].sort();
    const parameters = `X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=${encodeURIComponent(credential)}&X-Amz-Date=${time}&X-Amz-Expires=${expires}&X-Amz-SignedHeaders=${encodeURIComponent(names.join(";"))}`;
    const fullQuery = query === "" ? parameters : `${query}&${parameters}`;
    const canonical = canonicalRequest(
      { method, path, query: decodeQuery(fullQuery), headers: { host, ...givenHeaders } },
      names,
      payloadHash ?? "UNSIGNED-PAYLOAD",
    );
    const signature = signRequest(key, canonical, time, scope);
    return {
      target: `${path}?${fullQuery}&X-Amz-Signature=${signature}`,
      headers: { host, ...givenHeaders, ...length, ...unsignedHeaders },
    };
  }
  const hash = payloadHash ?? sha256Hex(Buffer.from(body));
  const headers: Record<string, string> = { ...givenHeaders, host, "x-amz-content-sha256": hash, "x-amz-date": time };
  const names = Object.keys(headers).sort();
  const canonical = canonicalRequest({ method, path, query: decodeQuery(query), headers }, names, hash);
  const signature = signRequest(key, canonical, time, scope);
  return {
    target: pathAndQuery,
    headers: {
      ...headers,
      ...length,
      ...unsignedHeaders,
      authorization: `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names.join(";")}, Signature=${signature}`,
    },
  };
}
