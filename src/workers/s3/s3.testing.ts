import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, request as httpRequest, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { createManualClock, listen, randomIds, silentLog } from "../../kernel/index.ts";
import {
  canonicalRequest,
  decodeQuery,
  sha256Hex,
  signingKey,
  signRequest,
  type Scope,
} from "../../protocol/aws-sigv4/index.ts";
import { migrate, openFsObjects, openSqlite } from "../../store/index.ts";
import { createR2Service, r2Migrations } from "../bindings/r2/index.ts";
import { bucketSettingsMigrations, createBucketSettings } from "../bucket-settings/index.ts";
import type { S3Key } from "./authenticate.ts";
import { createS3Http } from "./http.ts";

export const ACCOUNT = "a".repeat(32);
export const DOMAIN = "r2.test";

export interface Sent {
  method?: string;
  /** Below the endpoint: `/bucket/key?query`. */
  path: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  secret?: string;
  accessKeyId?: string;
  /** Value of x-amz-content-sha256. Default: the hash of the body. */
  payloadHash?: string;
  /** Epoch milliseconds. Default: the clock. */
  at?: number;
  /** Signs the request with a presigned URL that is valid for these seconds. */
  expires?: number;
  /** Headers that are sent but not signed. */
  unsigned?: Record<string, string>;
  /** Sends no signature at all. */
  anonymous?: boolean;
  service?: string;
  host?: string;
}

interface Answered {
  status: number;
  headers: IncomingMessage["headers"];
  text: string;
  /** The code in an error document. */
  code: string | undefined;
}

/** The S3 API over HTTP on SQLite, with keys that the test adds. */
export async function startS3(t: TestContext, { pagesNeedCors = false } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "s3-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, [...r2Migrations, ...bucketSettingsMigrations]);
  const clock = createManualClock(Math.floor(Date.now() / 1000) * 1000);
  const settings = createBucketSettings({ db, clock, ids: randomIds });
  const r2 = createR2Service({
    db,
    objects: await openFsObjects({ folder: join(folder, "objects") }),
    clock,
    limits: { minimumPartBytes: 10 },
    onRemoved: settings.remove,
  });
  const keys = new Map<string, S3Key>([["key", { secret: "secret", allows: () => true }]]);
  const s3 = createS3Http({
    ...r2,
    settings,
    findKey: async (id) => keys.get(id),
    endpoints: { domain: DOMAIN, prefix: "/s3/", accountInPath: true },
    clientIp: ({ socket }) => socket.remoteAddress,
    pagesNeedCors,
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

  async function send(sent: Sent): Promise<Answered> {
    const host = sent.host ?? `127.0.0.1:${port}`;
    const path = sent.host === undefined ? `/s3/${ACCOUNT}${sent.path}` : sent.path;
    const { target, headers } = sign({ ...sent, path, host, at: sent.at ?? clock.now() });
    const call = httpRequest({
      host: "127.0.0.1",
      port,
      method: sent.method ?? "GET",
      path: target,
      headers,
      agent: false,
    });
    // The server may respond, and close the connection, before it has read the body.
    call.on("error", () => {});
    call.end(sent.body);
    const [response] = (await once(call, "response")) as [IncomingMessage];
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

/** The target and the headers of a signed request. */
export function sign({
  method = "GET",
  path: full,
  headers: given = {},
  body = "",
  secret = "secret",
  accessKeyId = "key",
  payloadHash,
  at = 0,
  expires,
  unsigned = {},
  anonymous = false,
  service = "s3",
  host = "",
}: Sent): { target: string; headers: Record<string, string> } {
  const time = `${new Date(at).toISOString().replace(/[-:]/g, "").slice(0, 15)}Z`;
  const scope: Scope = { day: time.slice(0, 8), region: "auto", service };
  const length = { "content-length": String(Buffer.byteLength(body)) };
  const credential = `${accessKeyId}/${scope.day}/auto/${service}/aws4_request`;
  const [path = "/", query = ""] = full.split("?", 2);
  if (anonymous) return { target: full, headers: { host, ...given, ...length, ...unsigned } };
  const key = signingKey(secret, scope);
  if (expires !== undefined) {
    const names = ["host", ...Object.keys(given)].sort();
    const parameters = `X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=${encodeURIComponent(credential)}&X-Amz-Date=${time}&X-Amz-Expires=${expires}&X-Amz-SignedHeaders=${encodeURIComponent(names.join(";"))}`;
    const all = query === "" ? parameters : `${query}&${parameters}`;
    const canonical = canonicalRequest(
      { method, path, query: decodeQuery(all), headers: { host, ...given } },
      names,
      payloadHash ?? "UNSIGNED-PAYLOAD",
    );
    const signature = signRequest(key, canonical, time, scope);
    return {
      target: `${path}?${all}&X-Amz-Signature=${signature}`,
      headers: { host, ...given, ...length, ...unsigned },
    };
  }
  const hash = payloadHash ?? sha256Hex(Buffer.from(body));
  const headers: Record<string, string> = { ...given, host, "x-amz-content-sha256": hash, "x-amz-date": time };
  const names = Object.keys(headers).sort();
  const canonical = canonicalRequest({ method, path, query: decodeQuery(query), headers }, names, hash);
  const signature = signRequest(key, canonical, time, scope);
  return {
    target: full,
    headers: {
      ...headers,
      ...length,
      ...unsigned,
      authorization: `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names.join(";")}, Signature=${signature}`,
    },
  };
}
