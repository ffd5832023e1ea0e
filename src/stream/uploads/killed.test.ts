import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test, type TestContext } from "node:test";
import * as tus from "tus-js-client";
import { freePort } from "../../../test/support/free-ports.ts";
import { openUploadsFixture, VIDEO_HEAD } from "./uploads.testing.ts";

const MIB = 1024 * 1024;

/** Starts a server in a separate process; each start uses the same port. */
async function startServer(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-killed-"));
  let child: ChildProcess | undefined;
  const port = await freePort();
  const start = async (): Promise<string> => {
    child = spawn(process.execPath, [join(import.meta.dirname, "upload-process.testing.ts"), folder, String(port)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    return String((await once(child.stdout!, "data"))[0]).trim();
  };
  const kill = async () => {
    const gone = once(child!, "exit");
    child!.kill("SIGKILL");
    await gone;
  };
  t.after(async () => {
    if (child?.exitCode === null && child.signalCode === null) await kill();
    rmSync(folder, { recursive: true, force: true });
  });
  return { folder, start, kill };
}

test(
  "a server that is killed repeatedly loses no acknowledged data, and the upload resumes and completes",
  { timeout: 110_000 },
  async (t) => {
    const { folder, start, kill } = await startServer(t);
    const base = await start();
    const bytes = randomBytes(18 * MIB + 777);
    // Kills in the first chunk, at its end, in the third, and in the last.
    const moments = [2 * MIB, 6 * MIB - 1, 13 * MIB, 17 * MIB];
    let acknowledged = 0;
    let restarting = Promise.resolve();
    let uid: string | undefined;
    let kills = 0;

    await new Promise<void>((resolve, reject) => {
      const upload = new tus.Upload(bytes, {
        endpoint: `${base}/tus`,
        chunkSize: 6 * MIB,
        retryDelays: [50, 100, 200, 500, ...Array.from({ length: 20 }, () => 1000)],
        onError: reject,
        onSuccess: () => resolve(),
        onProgress(sent) {
          // One event may report data beyond several of them.
          for (; moments.length > 0 && sent >= moments[0]!; moments.shift()) {
            kills++;
            restarting = restarting
              .then(kill)
              .then(start)
              .then(() => undefined);
          }
        },
        onAfterResponse(request, response) {
          uid ??= response.getHeader("stream-media-id");
          const offset = Number(response.getHeader("upload-offset") ?? 0);
          if (request.getMethod() === "HEAD" && response.getStatus() === 200)
            assert.ok(offset >= acknowledged, `${offset} after ${acknowledged} were acknowledged`);
          acknowledged = Math.max(acknowledged, offset);
        },
      });
      upload.start();
    });
    await restarting;
    // The last response has arrived, so all its data is stored.
    await kill();
    assert.equal(kills, 4);
    const world = await openUploadsFixture({ folder });
    t.after(world.close);
    const video = (await world.videos.find(uid!))!;
    assert.deepEqual([video.state, video.size], ["queued", bytes.length]);
    assert.equal(Buffer.compare((await world.source(uid!))!, bytes), 0);
  },
);

test("an upload that was complete when the server died before recording it is recovered at startup", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-killed-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const bytes = VIDEO_HEAD.subarray(0, 10);
  const made: string[] = [];
  {
    const { base, uploads, objects, close } = await openUploadsFixture({ folder });
    const create = async () =>
      (
        await fetch(`${base}/tus`, { method: "POST", headers: { "tus-resumable": "1.0.0", "upload-length": "10" } })
      ).headers.get("stream-media-id")!;
    made.push(await create(), await create(), await create());
    // Three states: before it became one object, before its video was announced, and incomplete.
    for (const [n, uid] of made.entries())
      await objects.partial(`stream/${uid}/source`).append(0, Readable.from([bytes.subarray(0, n === 2 ? 9 : 10)]));
    await objects.partial(`stream/${made[1]!}/source`).complete(10);
    await uploads.close();
    await close();
  }
  const world = await openUploadsFixture({ folder });
  t.after(world.close);
  assert.deepEqual(await Promise.all(made.map(async (uid) => (await world.videos.find(uid))!.state)), [
    "queued",
    "queued",
    "pendingupload",
  ]);
  assert.deepEqual(await world.source(made[0]!), bytes);
});
