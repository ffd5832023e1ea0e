import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { createManualClock, silentLog } from "../../../kernel/index.ts";
import { createLocalEvents, jobsMigrations, migrate, openSqlite } from "../../../store/index.ts";
import { streamErrors, streamMigrations, type Video } from "../../../stream/index.ts";
import { createChapters } from "../../../stream/chapters/index.ts";
import { startApi, TEST_ACCOUNT } from "../../api.testing.ts";
import { streamChaptersRoutes } from "./chapters.ts";

const UID = "e".repeat(32);
const PATH = `/accounts/${TEST_ACCOUNT}/stream/${UID}/chapters`;
const VTT = "WEBVTT\n\n00:00:00.000 --> 00:00:30.000\nOpening\n\n00:00:30.000 --> 00:01:00.000\nQ&amp;A\n";
const CHAPTERS = [
  { start: 0, title: "Opening" },
  { start: 30, title: "Q&A" },
];

async function setUp(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "stream-chapters-api-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, [...jobsMigrations, ...streamMigrations]);
  const events = createLocalEvents({ log: silentLog });
  const video = { uid: UID, account: TEST_ACCOUNT, state: "ready", duration: 60 } as Video;
  const chapters = createChapters({
    db,
    events,
    clock: createManualClock(0),
    videos: {
      find: async () => video,
      get: async (_, uid) => (uid === UID ? video : Promise.reject(streamErrors.videoNotFound({ uid }))),
    },
  });
  t.after(async () => {
    await events.close();
    await db.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return startApi(t, { routes: streamChaptersRoutes({ chapters }) });
}

test("replaces, lists and deletes chapters", async (t) => {
  const { call } = await setUp(t);
  assert.deepEqual((await call("GET", PATH)).body.result, { chapters: [] });
  const put = await call("PUT", PATH, { body: { chapters: CHAPTERS.toReversed() } });
  assert.deepEqual([put.status, put.body.result], [200, { chapters: CHAPTERS }]);
  assert.deepEqual((await call("GET", PATH)).body.result, { chapters: CHAPTERS });
  assert.deepEqual((await call("DELETE", PATH)).body.result, "");
  assert.deepEqual((await call("GET", PATH)).body.result, { chapters: [] });
});

test("imports WebVTT from a body or a form, and exports WebVTT", async (t) => {
  const { call } = await setUp(t);
  const form = new FormData();
  form.set("file", new File([VTT], "chapters.vtt", { type: "text/vtt" }));
  for (const body of [VTT, form]) {
    const put = await call("PUT", `${PATH}/vtt`, { body });
    assert.deepEqual([put.status, put.body.result], [200, { chapters: CHAPTERS }]);
    const { headers, text } = await call("GET", `${PATH}/vtt`);
    assert.deepEqual([headers.get("content-type"), text], ["text/vtt; charset=utf-8", VTT]);
    await call("DELETE", PATH);
  }
});

test("rejects invalid chapters and files, and unknown videos, and states the reason", async (t) => {
  const { call } = await setUp(t);
  const refusal = async (path: string, body: unknown) => {
    const response = await call("PUT", path, { body });
    return [response.status, response.body.errors[0].code];
  };
  assert.deepEqual(await refusal(PATH, { chapters: [{ start: 60, title: "After the end" }] }), [400, 10956]);
  assert.equal((await refusal(PATH, { chapters: [{ start: "0", title: "Text" }] }))[0], 400);
  assert.deepEqual(await refusal(`${PATH}/vtt`, "no chapters"), [400, 10956]);
  assert.deepEqual(await refusal(`${PATH}/vtt`, "x".repeat(256 * 1024 + 1)), [413, 10901]);
  assert.deepEqual(await refusal(PATH.replace(UID, "9".repeat(32)), { chapters: [] }), [404, 10003]);
});
