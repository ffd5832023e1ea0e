import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { sendHttpRequest } from "../e2e/serve-client.ts";
import { clip, needsFfmpeg } from "../support/media.ts";
import { temporaryFolder } from "../support/serve.ts";
import { mountSmallDisk } from "../support/small-disk.ts";
import { createLadderCheck } from "./stream/ladder.ts";
import { padded, send, sendForm, TUS, tusAt, tusCreate, uploadForm } from "./stream/senders.ts";
import {
  allVideos,
  objectsByPrefix,
  waitForFinalState,
  startVideoServer,
  until,
  videoOf,
  type VideoServer,
} from "./stream/server.ts";
import { get, continueWatching } from "./stream/viewer.ts";

const MIB = 1024 * 1024;

describe("a full disk", { concurrency: 2 }, () => {
  for (const [what, whole] of [
    ["that holds all data", true],
    ["that holds only the video files", false],
  ] as const) {
    test(
      `${what} is reported to the uploader, pauses encoding, leaves nothing half-written, and is recovered from once there is space`,
      { ...needsFfmpeg, timeout: 240_000 },
      (t) => fillAndFree(t, whole),
    );
  }
});

async function fillAndFree(t: TestContext, whole: boolean): Promise<void> {
  const small = mountSmallDisk(t, 48);
  if (small === undefined) return t.skip("cannot mount a small disk here");
  const objects = join(small.folder, "objects");
  const place = {
    env: { REELPOST_STREAM_PASSTHROUGH: "false", REELPOST_OBJECTS_DIR: objects },
    dataDirectory: whole ? small.folder : await temporaryFolder(t, "full"),
  };
  const server = await startVideoServer(t, place);
  const source = await clip({ seconds: 12, size: "640x360", fps: "24", audio: false });
  const ladder = { source, rungs: ["240p", "360p"], segments: 3, audio: false };
  const { check } = createLadderCheck();
  const watched = await uploadForm(server, await clip());
  await waitForFinalState(server, watched);
  const viewer = continueWatching(server.ready.url, watched);

  // During an upload: received data is kept if the upload can be resumed; the data of a form is discarded.
  const large = await padded(source, 60 * MIB);
  const form = await sendForm(tusAt(server), large);
  assert.deepEqual([form.status, JSON.parse(form.text).success], [507, false], form.text);
  assert.ok(!form.text.includes(small.folder), form.text);
  await until(async () => (await allVideos(server)).length === 1, "no video remains of the form");
  assert.deepEqual(objectsByPrefix(objects, ".tmp"), []);
  const { uid, path } = await tusCreate(server, large.length);
  const patch = (offset: number) =>
    send(`${server.ready.url}${path}`, {
      method: "PATCH",
      headers: { ...TUS, "content-type": "application/offset+octet-stream", "upload-offset": String(offset) },
      body: large.subarray(offset),
    });
  const head = async () =>
    Number((await send(`${server.ready.url}${path}`, { method: "HEAD", headers: TUS })).headers["upload-offset"]);
  const refused = await patch(0);
  assert.equal(refused.status, 507, refused.text);
  const offset = await head();
  assert.ok(offset >= 0 && offset < large.length);
  assert.equal((await videoOf(server, uid)).status.state, "pendingupload");
  assert.equal((await sendHttpRequest(server.ready, "/readyz")).status, 200);
  await send(`${server.ready.url}${path}`, { method: "DELETE", headers: TUS });
  await until(() => objectsByPrefix(objects, ".partial").length === 0, "the partial upload is deleted");

  // A disk that fills up during encoding.
  const encoded = await uploadForm(server, source);
  const manifest = `${server.ready.url}/${encoded}/manifest/video.m3u8`;
  await until(async () => (await get(manifest)).status === 200, "the video is playable");
  small.fill();
  await until(() => /No space|no space|ENOSPC|DISK_FULL/.test(server.log()), "the log reports the full disk");
  // A full database cannot even record a failed attempt. On the other disk, there are more attempts than the limit
  // after which a video fails.
  const tried = whole
    ? /jobs: failed to store the outcome, will retry/g
    : /failed to (?:process a new video|encode a chunk of a video), will retry/g;
  await until(() => (server.log().match(tried) ?? []).length >= 3, "the jobs are retried");
  assert.notEqual((await videoOf(server, encoded)).status.state, "error", "a full disk does not fail the video");
  // A response that has begun can only be aborted; one to a Range request begins when the segment is stored.
  const wanted = `${server.ready.url}/${encoded}/segments/360p/2.m4s`;
  await get(wanted).then(
    ({ status }) => assert.equal(status, 507),
    (err: NodeJS.ErrnoException) => assert.equal(err.code, "ECONNRESET"),
  );
  const ranged = await fetch(wanted, { headers: { range: "bytes=0-" } });
  const answer = await ranged.text();
  assert.equal(ranged.status, 507, answer.slice(0, 200));
  assert.ok(!answer.includes(small.folder), answer);
  for (const name of objectsByPrefix(objects, `stream/${encoded}`))
    if (name.endsWith(".m4s"))
      assert.ok((await readFile(join(objects, "stream", encoded, name))).length > 100, `${name} is complete`);
  const full = await sendForm(tusAt(server), await readFile(source));
  assert.equal(full.status, 507, full.text);
  const copy = () => server.api.call("post", "stream/direct_upload", { body: { maxDurationSeconds: 60 } });
  const expected = whole ? 507 : 200;
  let { status, body } = await copy();
  // A row fits until the database log needs another page, which happens sooner or later.
  for (let i = 0; i < 200 && status !== expected; i++) ({ status, body } = await copy());
  assert.equal(status, expected, JSON.stringify(body));

  small.free();
  assert.equal((await waitForFinalState(server, encoded)).status.state, "ready", server.log());
  await check(objects, encoded, ladder);
  assert.equal((await waitForFinalState(server, await uploadForm(server, await clip()))).status.state, "ready");
  t.diagnostic(JSON.stringify({ offset, wanted: ranged.status, ...(await viewer.stop()) }));
  assert.deepEqual(await server.stop(), { code: 0, signal: null });
  assert.deepEqual(objectsByPrefix(objects, ".tmp"), []);
  assert.deepEqual(
    readdirSync(server.dataDirectory, { recursive: true, encoding: "utf8" }).filter((name) => /encode-/.test(name)),
    [],
  );
  const last: VideoServer = await startVideoServer(t, place);
  assert.equal((await get(`${last.ready.url}/${encoded}/segments/360p/2.m4s`)).status, 200);
}
