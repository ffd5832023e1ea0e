import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { createManualClock, randomIds, silentLog } from "../../../kernel/index.ts";
import {
  createJobs,
  createLocalEvents,
  jobsMigrations,
  migrate,
  openFsObjects,
  openSqlite,
} from "../../../store/index.ts";
import { streamMigrations, streamErrors, type Video } from "../../../stream/index.ts";
import { createCaptions } from "../../../stream/captions/index.ts";
import { startApi, TEST_ACCOUNT } from "../../api.testing.ts";
import { streamCaptionsRoutes } from "./captions.ts";

const UID = "e".repeat(32);
const LIST = `/accounts/${TEST_ACCOUNT}/stream/${UID}/captions`;
const VTT = "WEBVTT\n\n00:01.000 --> 00:02.000\nmerhaba\n";

async function setUp(t: TestContext, command: string[] = []) {
  const folder = mkdtempSync(join(tmpdir(), "stream-captions-api-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, [...jobsMigrations, ...streamMigrations]);
  const events = createLocalEvents({ log: silentLog });
  const clock = createManualClock(0);
  const video = { uid: UID, account: TEST_ACCOUNT, state: "pendingupload", readyToStream: false } as Video;
  const captions = createCaptions({
    db,
    events,
    clock,
    objects: await openFsObjects({ folder }),
    jobs: createJobs({ db, clock, ids: randomIds, events, log: silentLog }),
    ids: randomIds,
    log: silentLog,
    folder,
    // One video, and no speech recognition.
    tools: { ffmpeg: () => assert.fail("ffmpeg was run") },
    videos: {
      find: async () => video,
      get: async (_, uid) => (uid === UID ? video : Promise.reject(streamErrors.videoNotFound({ uid }))),
    },
    settings: { caption_command: command, caption_languages: ["en"], caption_minutes: 120 },
  });
  t.after(async () => {
    await captions.close();
    await events.close();
    await db.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return startApi(t, { routes: streamCaptionsRoutes({ captions }) });
}

const form = (file: string | Blob, name = "file") => {
  const parts = new FormData();
  parts.append(name, file);
  return parts;
};

test("captions are uploaded with a form, listed, shown, fetched as WebVTT, and deleted", async (t) => {
  const { call } = await setUp(t);
  assert.deepEqual((await call("GET", LIST)).body.result, []);
  const tr = { language: "tr", label: "Türkçe", generated: false, status: "ready" };
  const put = await call("PUT", `${LIST}/tr`, { body: form(new File([VTT], "tr.vtt", { type: "text/vtt" })) });
  assert.deepEqual([put.status, put.body.result, put.body.messages], [200, tr, []]);
  assert.deepEqual((await call("GET", LIST)).body.result, [tr]);
  assert.deepEqual((await call("GET", LIST, { query: { page: 2 } })).body.result, []);
  assert.deepEqual((await call("GET", `${LIST}/TR`)).body.result, tr);
  const vtt = await call("GET", `${LIST}/tr/vtt`);
  assert.deepEqual(
    [vtt.status, vtt.headers.get("content-type"), vtt.text],
    [200, "text/vtt; charset=utf-8", "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\nmerhaba\n"],
  );
  assert.deepEqual((await call("DELETE", `${LIST}/tr`)).body.result, "");
  for (const [method, path] of [
    ["GET", ""],
    ["GET", "/vtt"],
    ["DELETE", ""],
  ] as const) {
    const gone = await call(method, `${LIST}/tr${path}`);
    assert.deepEqual([gone.status, gone.body.errors[0].code], [404, 10003]);
  }
});

test("accepts a file as a plain field or as the body, and reports parse errors", async (t) => {
  const { call } = await setUp(t);
  assert.equal(
    (await call("PUT", `${LIST}/en`, { body: form("1\n00:00:01,000 --> 00:00:02,000\nhello\n") })).status,
    200,
  );
  const put = await call("PUT", `${LIST}/de`, {
    body: `${VTT}\n00:09.000 --> 00:01.000\nx\n`,
    headers: { "content-type": "text/vtt" },
  });
  assert.deepEqual([put.status, put.body.messages.length], [200, 1]);
  assert.match(put.body.messages[0].message, /1 cue could not be parsed.*line 6/);
});

test("rejects invalid files, tags and sizes with the reason", async (t) => {
  const { call } = await setUp(t);
  const refusal = async (language: string, body: unknown) => {
    const {
      status,
      body: { errors },
    } = await call("PUT", `${LIST}/${language}`, { body });
    return [status, errors[0].code];
  };
  assert.deepEqual(await refusal("english", form(VTT)), [400, 10941]);
  assert.deepEqual(await refusal("en", form("no captions")), [400, 10942]);
  assert.deepEqual(await refusal("en", form(VTT, "captions")), [400, 10005]);
  assert.deepEqual(await refusal("en", form(new Blob([new Uint8Array(10 * 1024 * 1024 + 1)]))), [413, 10901]);
  assert.equal((await call("PUT", `${LIST.replace(UID, "9".repeat(32))}/en`, { body: form(VTT) })).status, 404);
});

test("rejects caption generation if the setting is missing or the state of the video does not allow it", async (t) => {
  const off = await (await setUp(t)).call("POST", `${LIST}/en/generate`);
  assert.deepEqual([off.status, off.body.errors[0].code], [400, 10945]);
  assert.match(JSON.stringify(off.body.errors), /stream\.caption_command/);
  const early = await (await setUp(t, ["/bin/true"])).call("POST", `${LIST}/en/generate`, { body: {} });
  assert.deepEqual([early.status, early.body.errors[0].code], [409, 10914]);
});
