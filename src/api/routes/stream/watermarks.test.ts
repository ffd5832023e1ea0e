import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { crc32, deflateSync } from "node:zlib";
import { createGuardedFetch } from "../../../kernel/guarded-fetch.ts";
import { createManualClock, randomIds, silentLog } from "../../../kernel/index.ts";
import { migrate, openFsObjects, openSqlite } from "../../../store/index.ts";
import { streamErrors, streamMigrations } from "../../../stream/index.ts";
import { createWatermarks } from "../../../stream/watermarks/index.ts";
import { startApi, TEST_ACCOUNT } from "../../api.testing.ts";
import { streamWatermarksRoutes } from "./watermarks.ts";

const LIST = `/accounts/${TEST_ACCOUNT}/stream/watermarks`;

/** 2 x 1 pixels of grey. */
const PNG = Buffer.concat([
  Buffer.from("89504e470d0a1a0a", "hex"),
  ...(
    [
      ["IHDR", Buffer.from("00000002000000010800000000", "hex")],
      ["IDAT", deflateSync(Buffer.from([0, 100, 200]))],
      ["IEND", Buffer.alloc(0)],
    ] as const
  ).map(([type, data]) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  }),
]);

async function setUp(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "stream-watermarks-api-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, streamMigrations);
  const tools = { ffmpeg: () => Promise.reject(streamErrors.mediaToolsMissing({ reason: "none in this test" })) };
  const watermarks = createWatermarks({
    db,
    objects: await openFsObjects({ folder }),
    tools,
    fetch: createGuardedFetch({ allowPrivate: true }),
    clock: createManualClock(Date.UTC(2026, 10, 21)),
    ids: randomIds,
    log: silentLog,
  });
  t.after(async () => {
    await db.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return startApi(t, { routes: streamWatermarksRoutes({ watermarks }) });
}

const form = (fields: Record<string, string | Blob>) => {
  const parts = new FormData();
  for (const [name, value] of Object.entries(fields)) parts.append(name, value);
  return parts;
};

test("a profile is created with a form, listed, shown and deleted", async (t) => {
  const { call } = await setUp(t);
  const made = await call("POST", LIST, {
    body: form({
      file: new File([PNG], "logo.png"),
      name: "Marketing",
      opacity: "0.75",
      padding: "0.1",
      scale: "0",
      position: "center",
    }),
  });
  const { uid } = made.body.result;
  assert.deepEqual(
    [made.status, made.body.result],
    [
      200,
      {
        uid,
        name: "Marketing",
        size: PNG.length,
        width: 2,
        height: 1,
        opacity: 0.75,
        padding: 0.1,
        scale: 0,
        position: "center",
        downloadedFrom: null,
        created: "2026-11-21T00:00:00.000Z",
      },
    ],
  );
  assert.match(uid, /^[0-9a-f]{32}$/);
  assert.deepEqual((await call("GET", LIST)).body.result, [made.body.result]);
  assert.deepEqual((await call("GET", LIST, { query: { page: 2 } })).body.result, []);
  assert.deepEqual((await call("GET", `${LIST}/${uid}`)).body.result, made.body.result);
  assert.equal((await call("DELETE", `${LIST}/${uid}`)).body.result, "");
  for (const method of ["GET", "DELETE"]) {
    const gone = await call(method, `${LIST}/${uid}`);
    assert.deepEqual([gone.status, gone.body.errors[0].code], [404, 10003]);
  }
});

test("a profile is created from a URL in JSON or a form, with defaults for the other fields", async (t) => {
  const { call } = await setUp(t);
  const server = createServer((_, response) => response.end(PNG));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/logo.png`;
  for (const body of [{ url, name: "x" }, form({ url, name: "x" })]) {
    const {
      status,
      body: { result },
    } = await call("POST", LIST, { body });
    assert.deepEqual(
      [status, result.downloadedFrom, result.name, result.opacity, result.padding, result.scale, result.position],
      [200, url, "x", 1, 0.05, 0.15, "upperRight"],
    );
  }
});

test("rejects invalid images and options with the published codes", async (t) => {
  const { call } = await setUp(t);
  const refusal = async (body: unknown) => {
    const {
      status,
      body: { errors },
    } = await call("POST", LIST, { body });
    return [status, errors[0].code];
  };
  assert.deepEqual(await refusal(form({ file: new Blob(["GIF89a"]) })), [400, 10004]);
  assert.deepEqual(await refusal(form({ file: new Blob([new Uint8Array(2 * 1024 * 1024 + 1)]) })), [400, 10004]);
  assert.deepEqual(await refusal(form({ name: "x" })), [400, 10005]);
  assert.deepEqual(await refusal({}), [400, 10005]);
  assert.deepEqual(await refusal(""), [400, 10005]);
  assert.deepEqual(await refusal(form({ file: new Blob([PNG]), opacity: "2" })), [400, 10005]);
  assert.deepEqual(await refusal(form({ file: new Blob([PNG]), position: "top" })), [400, 10005]);
  assert.deepEqual(await refusal({ url: "not an address" }), [400, 10010]);
  assert.deepEqual(await refusal({ url: "http://127.0.0.1:1/x.png", scale: "big" }), [400, 10005]);
});
