import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { startWorkerd, type RunningWorkerd } from "../../../../test/support/workerd.ts";
import { migrate, openFsObjects, openSqlite, type Db, type ObjectStore } from "../../../store/index.ts";
import type { WorkerScript } from "../../scripts/script.ts";
import { r2Migrations } from "./r2-table.ts";
import { createR2Service, type R2Service } from "./service.ts";

// Shared by all conversations. `show` and `failure` make results comparable as JSON.
const PRELUDE = `
const show = (object) => object && {
  type: object.constructor.name, key: object.key, version: object.version, size: object.size, etag: object.etag, httpEtag: object.httpEtag,
  uploaded: object.uploaded.getTime(), httpMetadata: object.httpMetadata, customMetadata: object.customMetadata, range: object.range,
  checksums: object.checksums.toJSON(), storageClass: object.storageClass, hasBody: "body" in object && object.body !== undefined,
};
const failure = async (promise) => promise.then(() => "no failure", (err) => err.name + ": " + err.message);
const metadata = { httpMetadata: { contentType: "text/plain; charset=utf-8", contentLanguage: "en", contentDisposition: "inline", contentEncoding: "br", cacheControl: "no-store", cacheExpiry: new Date(1900000000000) },
  customMetadata: { plain: "x", "ключ": "значение 🙂" } };
`;

const HANDLER = `
export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    const [, name, bucket] = pathname.split("/");
    const result = await conversations[name](env[bucket], request);
    return result instanceof Response ? result : Response.json(result ?? null);
  },
};
`;

interface R2Worker {
  /** Runs a conversation with a bucket and returns its result. */
  // oxlint-disable-next-line no-explicit-any -- each conversation returns another type
  converse(name: string, bucket: string, init?: RequestInit): Promise<any>;
  /** Calls the worker's fetch handler: `/<conversation>/<bucket>`. */
  fetch: RunningWorkerd["fetch"];
  /** Resolves with the names of all stored blobs of all buckets. */
  blobs(): Promise<string[]>;
}

/**
 * Registers hooks that start and stop one workerd with these buckets. Call it inside a `describe`. `conversations` are
 * methods of a JavaScript object, `async name(bucket, request) { ... }`; they may use `show`, `failure` and `metadata`.
 */
export function openR2Worker(conversations: string, buckets: string[]): R2Worker {
  let folder: string;
  let db: Db;
  let service: R2Service;
  let workerd: RunningWorkerd;
  let objects: ObjectStore;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "r2-"));
    db = openSqlite({ path: join(folder, "test.db") });
    await migrate(db, r2Migrations);
    objects = await openFsObjects({ folder: join(folder, "objects") });
    service = createR2Service({ db, objects });
    const script = {} as WorkerScript;
    workerd = await startWorkerd({
      modules: { "worker.js": `${PRELUDE}\nconst conversations = {\n${conversations}\n};\n${HANDLER}` },
      bindings: buckets.map((name) => `(name = "${name}", r2Bucket = "${name}")`).join(", "),
      services: Object.fromEntries(
        buckets.map((name) => [
          name,
          (request, response) =>
            void service.handle(request, response, {
              script,
              binding: { type: "r2_bucket", name, bucket_name: `bucket-${name}` },
            }),
        ]),
      ),
    });
  });
  after(async () => {
    await workerd?.close();
    await service?.buckets.close();
    await db?.close();
    await rm(folder, { recursive: true, force: true });
  });

  return {
    async converse(name, bucket, init) {
      const response = await workerd.fetch(`/${name}/${bucket}`, init);
      const body = await response.text();
      assert.equal(response.status, 200, `${body}\n${workerd.output()}`);
      return JSON.parse(body);
    },
    fetch: (path, init) => workerd.fetch(path, init),
    async blobs() {
      await service.buckets.close();
      const names: string[] = [];
      for await (const { key } of objects.list("r2/")) names.push(key);
      return names;
    },
  };
}
