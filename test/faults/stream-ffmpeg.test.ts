import assert from "node:assert/strict";
import { existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { describe, test } from "node:test";
import { sendMail } from "../e2e/serve-client.ts";
import { clip, needsFfmpeg } from "../support/media.ts";
import { temporaryFolder } from "../support/serve.ts";
import { createLadderCheck } from "./stream/ladder.ts";
import { TUS, send, tusCreate, uploadForm } from "./stream/senders.ts";
import { processesOf, waitForFinalState, startVideoServer, until, videoOf } from "./stream/server.ts";
import { get, continueWatching } from "./stream/viewer.ts";

const WORKER = `export default { async email(message) { message.setReject("seen"); }, fetch: () => new Response("here") };`;
const long = (seconds = 20) => clip({ seconds, size: "640x360", fps: "24", audio: false });
const pathOf = (name: string) =>
  (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path))!;

describe("ffmpeg", { concurrency: 2 }, () => {
  test(
    "killed repeatedly during encoding still completes the ladder, without affecting the viewer",
    { ...needsFfmpeg, timeout: 240_000 },
    async (t) => {
      const source = await long();
      const server = await startVideoServer(t, { env: { REELPOST_LOG_LEVEL: "warn" } });
      const watched = await uploadForm(server, await clip());
      await waitForFinalState(server, watched);
      const viewer = continueWatching(server.ready.url, watched);
      const uid = await uploadForm(server, source);
      const killed = new Set<number>();
      for (let i = 0; i < 3 && (await videoOf(server, uid)).status.state !== "ready"; i++) {
        let running: number[] = [];
        await until(
          async () =>
            (running = processesOf(server.dataDirectory, "ffmpeg").filter((pid) => !killed.has(pid))).length > 0 ||
            (await videoOf(server, uid)).status.state === "ready",
          "an encoder is running",
        );
        for (const pid of running) {
          try {
            process.kill(pid, "SIGKILL");
            killed.add(pid);
          } catch {
            // The encoder exited before it could be killed.
          }
        }
      }
      const { status } = await waitForFinalState(server, uid);
      assert.equal(status.state, "ready", status.errorReasonText);
      assert.ok(killed.size >= 2, `${killed.size} were killed`);
      await createLadderCheck().check(join(server.dataDirectory, "objects"), uid, {
        source,
        rungs: ["240p", "360p"],
        segments: 5,
        audio: false,
      });
      t.diagnostic(JSON.stringify({ killed: killed.size, ...(await viewer.stop()) }));
      assert.deepEqual(await server.stop(), { code: 0, signal: null });
    },
  );

  test(
    "if missing, does not prevent uploads or anything else, and videos wait until it is installed",
    { ...needsFfmpeg, timeout: 240_000 },
    async (t) => {
      const [source, file] = [await clip(), await readFile(await clip())];
      const server = await startVideoServer(t, { env: { REELPOST_STREAM_FFMPEG: "/nowhere/ffmpeg" } });
      await server.api.deploy("here", WORKER);
      assert.match((await sendMail(server.ready, "here@main.localhost")).text, /seen/);
      const first = await uploadForm(server, file);
      const { uid: second, path } = await tusCreate(server, file.length);
      const patch = await send(`${server.ready.url}${path}`, {
        method: "PATCH",
        headers: { ...TUS, "content-type": "application/offset+octet-stream", "upload-offset": "0" },
        body: file,
      });
      assert.equal(patch.status, 204, patch.text);
      await until(
        () => /ffmpeg is unavailable.*\/nowhere\/ffmpeg/s.test(server.log()),
        "the log names the missing program",
      );
      await until(() => /failed to process a new video, will retry/.test(server.log()), "processing was attempted");
      for (const uid of [first, second]) {
        const { status } = await videoOf(server, uid);
        assert.deepEqual(status, {
          state: "queued",
          errorReasonCode: "",
          errorReasonText: "",
          ...("pctComplete" in status && { pctComplete: status.pctComplete }),
        });
        assert.deepEqual(
          [
            (await get(`${server.ready.url}/${uid}/manifest/video.m3u8`)).status,
            (await get(`${server.ready.url}/${uid}/segments/180p/0.m4s`)).status,
          ],
          [404, 404],
        );
      }
      assert.equal((await get(`${server.ready.url}/${first}/thumbnails/thumbnail.jpg`)).status, 409);
      assert.deepEqual(await server.stop(), { code: 0, signal: null });

      const again = await startVideoServer(t, {
        dataDirectory: server.dataDirectory,
        env: { REELPOST_LOG_LEVEL: "warn" },
      });
      const { check } = createLadderCheck();
      for (const uid of [first, second]) {
        assert.equal((await waitForFinalState(again, uid)).status.state, "ready");
        await check(join(again.dataDirectory, "objects"), uid, { source, rungs: ["180p"], segments: 1, audio: true });
      }
      assert.deepEqual(await again.stop(), { code: 0, signal: null });
    },
  );

  test(
    "no video fails if it is removed and reinstalled while in use, as in an upgrade",
    { ...needsFfmpeg, timeout: 240_000 },
    async (t) => {
      const folder = await temporaryFolder(t, "programs");
      mkdirSync(folder, { recursive: true });
      const program = join(folder, "ffmpeg");
      symlinkSync(pathOf("ffmpeg"), program);
      const server = await startVideoServer(t, {
        env: { REELPOST_STREAM_FFMPEG: program, REELPOST_STREAM_PASSTHROUGH: "false", REELPOST_LOG_LEVEL: "warn" },
      });
      // So long that the last segment is not encoded yet when the video becomes playable.
      const source = await long(60);
      const uid = await uploadForm(server, source);
      await until(async () => (await videoOf(server, uid)).readyToStream, "the video is playable");
      rmSync(program);
      for (const pid of processesOf(server.dataDirectory, "ffmpeg")) process.kill(pid, "SIGKILL");
      const late = await get(`${server.ready.url}/${uid}/segments/360p/14.m4s`);
      assert.equal(late.status, 503, late.body.toString());
      const waiting = await uploadForm(server, await clip());
      await until(
        () =>
          (server.log().match(/failed to (?:process a new video|encode a chunk of a video), will retry/g) ?? [])
            .length >= 4,
        "processing was retried several times",
      );
      for (const each of [uid, waiting])
        assert.notEqual((await videoOf(server, each)).status.state, "error", server.log());
      symlinkSync(pathOf("ffmpeg"), program);
      for (const each of [uid, waiting])
        assert.equal((await waitForFinalState(server, each)).status.state, "ready", server.log());
      await createLadderCheck().check(join(server.dataDirectory, "objects"), uid, {
        source,
        rungs: ["240p", "360p"],
        segments: 15,
        audio: false,
      });
    },
  );
});
