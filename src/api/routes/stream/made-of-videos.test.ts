import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { test, type TestContext } from "node:test";
import { createGuardedFetch } from "../../../kernel/guarded-fetch.ts";
import { randomIds, silentLog } from "../../../kernel/index.ts";
import { customerCode } from "../../../stream/index.ts";
import { createMediaTools } from "../../../stream/media/index.ts";
import { createDownloads } from "../../../stream/downloads/index.ts";
import { createClips } from "../../../stream/clips/index.ts";
import { createAudio } from "../../../stream/audio/index.ts";
import { settingsSchema } from "../../../kernel/settings.ts";
import { startApi, TEST_ACCOUNT } from "../../api.testing.ts";
import { streamAudioRoutes } from "./audio.ts";
import { streamClipRoutes } from "./clip.ts";
import { streamDownloadsRoutes } from "./downloads.ts";
import { openVideos, testModel } from "./videos.testing.ts";

const LIST = `/accounts/${TEST_ACCOUNT}/stream`;

/** Serves the routes for derived files of a video, with one playable video. No worker runs, so jobs remain queued. */
async function open(t: TestContext) {
  const world = await openVideos(t);
  const { videos, objects, urls } = world;
  const { stream: settings } = settingsSchema.parse({});
  const common = { ...world, ids: randomIds, log: silentLog };
  const downloads = createDownloads({ ...common, segments: { get: async () => undefined } });
  const audio = createAudio({
    ...common,
    tools: createMediaTools({ settings, log: silentLog }),
    fetch: createGuardedFetch({ allowPrivate: false }),
    settings,
    folder: tmpdir(),
  });
  const clips = createClips(common);
  t.after(() => audio.close());
  const api = await startApi(t, {
    routes: [
      ...streamDownloadsRoutes({ downloads, urls }),
      ...streamAudioRoutes({ audio }),
      ...streamClipRoutes({ clips, urls }),
    ],
  });
  const { uid } = await videos.create(TEST_ACCOUNT, {});
  const key = `stream/${uid}/source`;
  await objects.put(key, Buffer.from("film"));
  await videos.uploaded(uid, { key, size: 4 });
  const model = testModel(12);
  await videos.modelled(uid, {
    ...model,
    source: { ...model.source, key },
    audio: { stream: 1, codec: "aac", channels: 2, sampleRate: 48_000, passthrough: false },
  });
  await videos.playable(uid);
  return { ...world, call: api.call, uid, one: `${LIST}/${uid}` };
}

test("downloads of both types are created, listed and deleted", async (t) => {
  const { call, uid, one } = await open(t);
  const url = (name: string) =>
    `https://customer-${customerCode(TEST_ACCOUNT)}.videos.example.com/${uid}/downloads/${name}`;
  const made = { default: { status: "inprogress", percentComplete: 0, url: url("default.mp4") } };
  assert.deepEqual((await call("GET", `${one}/downloads`)).body.result, {});
  assert.deepEqual((await call("POST", `${one}/downloads`)).body.result, made);
  assert.deepEqual((await call("POST", `${one}/downloads/default`)).body.result, made);
  const both = { ...made, audio: { status: "inprogress", percentComplete: 0, url: url("audio.m4a") } };
  assert.deepEqual((await call("POST", `${one}/downloads/audio`)).body.result, both);
  assert.equal((await call("DELETE", `${one}/downloads`)).body.result, "ok");
  assert.deepEqual(Object.keys((await call("GET", `${one}/downloads`)).body.result), ["audio"]);
  assert.equal((await call("DELETE", `${one}/downloads/audio`)).body.result, "ok");
  const wrong = await call("POST", `${one}/downloads/gif`);
  assert.deepEqual([wrong.status, wrong.body.errors[0].code], [400, 10005]);
  assert.equal((await call("POST", `${LIST}/${"f".repeat(32)}/downloads`)).status, 404);
});

test("an audio track is uploaded by form, renamed, made the default and deleted, and a duplicate label is rejected", async (t) => {
  const { call, one } = await open(t);
  const send = (label: string) => {
    const body = new FormData();
    body.set("file", new Blob(["sound"]), "a.mp3");
    body.set("label", label);
    return call("POST", `${one}/audio`, { body });
  };
  assert.deepEqual((await call("GET", `${one}/audio`)).body.result, { audio: [] });
  const { uid, ...shown } = (await send("English")).body.result;
  assert.match(uid, /^[0-9a-f]{32}$/);
  assert.deepEqual(shown, { label: "English", default: false, status: "queued" });
  const again = await send("English");
  assert.deepEqual([again.status, again.body.errors[0].code], [400, 10005]);
  assert.deepEqual((await call("PATCH", `${one}/audio/${uid}`, { body: { default: true, label: "en" } })).body.result, {
    uid,
    label: "en",
    default: true,
    status: "queued",
  });
  assert.deepEqual((await call("GET", `${one}/audio`)).body.result, {
    audio: [{ uid, label: "en", default: true, status: "queued" }],
  });
  assert.equal((await call("DELETE", `${one}/audio/${uid}`)).status, 400);
  await call("PATCH", `${one}/audio/${uid}`, { body: { default: false } });
  assert.equal((await call("DELETE", `${one}/audio/${uid}`)).body.result, "ok");
  assert.equal((await call("DELETE", `${one}/audio/${uid}`)).status, 404);
  for (const body of [{ label: "x" }, { url: "http://127.0.0.1/x", label: "x" }, { url: "http://example.com/x" }])
    assert.equal((await call("POST", `${one}/audio/copy`, { body })).status, 400, JSON.stringify(body));
});

test("a clip is created as a new video", async (t) => {
  const { call, uid } = await open(t);
  const { result } = (
    await call("POST", `${LIST}/clip`, {
      body: {
        clippedFromVideoUID: uid,
        startTimeSeconds: 2,
        endTimeSeconds: 6,
        name: "part",
        creator: "ann",
        requireSignedURLs: true,
      },
    })
  ).body;
  assert.deepEqual(
    [result.status.state, result.clippedFrom, result.meta, result.creator, result.requireSignedURLs, result.duration],
    ["queued", uid, { name: "part" }, "ann", true, -1],
  );
  const wrong = await call("POST", `${LIST}/clip`, {
    body: { clippedFromVideoUID: uid, startTimeSeconds: 6, endTimeSeconds: 2 },
  });
  assert.deepEqual([wrong.status, wrong.body.errors[0].code], [400, 10005]);
  assert.match(wrong.body.errors[0].message, /greater than startTimeSeconds \(6\), not 2/);
});
