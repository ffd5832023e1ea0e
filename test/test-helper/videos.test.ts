import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { TestServer } from "../../src/test-helper/api.ts";
import { createServer, TestServerError } from "../../src/test-helper/client.ts";
import { createScope, makeProject } from "../e2e/dev-bench.ts";
import { clip, mediaClips, needsFfmpeg } from "../support/media.ts";

const WORKER = `export default {
  async fetch(request, env) {
    const video = await env.STREAM.video(new URL(request.url).pathname.slice(1)).details();
    return Response.json({ ready: video.readyToStream });
  },
};`;

describe("videos of reelpost/test", needsFfmpeg, () => {
  const scope = createScope();
  let server: TestServer;
  let folder: string;
  before(async () => {
    folder = await makeProject(scope, { "src/index.ts": WORKER }, { stream: { binding: "STREAM" } });
    server = await createServer({ dir: folder, startTimeout: 100_000 });
  });
  after(async () => {
    await server.close();
    await scope.close();
  });

  it("are uploaded, can be played, and can be read by the worker", async () => {
    const path = await clip(mediaClips.plain);
    const video = await server.stream.upload(path, { name: "mill.mp4" });
    assert.equal(video.readyToStream, true);
    assert.match(await (await fetch(video.playback.hls)).text(), /^#EXTM3U/);
    assert.deepEqual(await (await server.fetch(`/${video.uid}`)).json(), { ready: true });
    const copy = await server.stream.upload(await readFile(path), { wait: false });
    assert.equal((await server.stream.get(copy.uid)).uid, copy.uid);
  });

  it("are rejected if the file is missing or is not a video", async () => {
    const rejects = (upload: Promise<unknown>, message: RegExp) =>
      assert.rejects(upload, (err: unknown) => {
        assert.ok(err instanceof TestServerError);
        assert.match(err.message, message);
        assert.ok(err.fix);
        return true;
      });
    await rejects(server.stream.upload(join(folder, "missing.mp4")), /cannot read .*missing\.mp4/);
    await writeFile(join(folder, "text.mp4"), "not a video ".repeat(1000));
    await rejects(
      server.stream.upload(join(folder, "text.mp4")),
      /rejected the request for the video: The file is not a video/,
    );
    const start = (await readFile(await clip(mediaClips.plain))).subarray(0, 2000);
    await rejects(server.stream.upload(start), /^The video [0-9a-f]{32} failed: \S/);
    await rejects(server.stream.get("0".repeat(32)), /rejected the request for the video: .*not found/i);
  });

  it("are rejected while the disk is full", async () => {
    await server.disk.fill();
    await assert.rejects(
      server.stream.upload(await clip(mediaClips.plain)),
      /The server rejected .*(disk|space|storage)/i,
    );
    await server.disk.free();
  });
});
