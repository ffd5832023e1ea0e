import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { clip, countFrames, needsFfmpeg } from "../../../test/support/media.ts";
import { processesWith } from "../media/media.testing.ts";
import { openProcessing } from "./processing.testing.ts";

test(
  "kill -9 in the middle of a ladder ends its encoders, and the ladder is completed from the stored segments",
  needsFfmpeg,
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "reelpost-kill-"));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const path = await clip({
      seconds: 38,
      size: "160x90",
      fps: "25",
      video: ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-b:v", "200k"],
    });
    const child = spawn(process.execPath, [join(import.meta.dirname, "killed-process.testing.ts"), folder, path], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [said] = (await once(child.stdout, "data")) as [Buffer];
    child.kill("SIGKILL");
    await once(child, "exit");
    const uid = said.toString().trim();
    while (processesWith(folder).length > 0) await new Promise((resolve) => setImmediate(resolve));

    const encoded: string[] = [];
    const { names, videos, until, segments, objects } = await openProcessing(t, {
      folder,
      processing: { leaseMs: 1500 },
      around: (tools) => ({ ...tools, ffmpeg: (run) => (encoded.push(run.args.join(" ")), tools.ffmpeg(run)) }),
    });
    const before = await names(uid);
    const mtimes = await modified(before);
    assert.notEqual((await videos.find(uid))?.state, "ready");
    const video = await until(uid, ({ state }) => state === "ready");
    assert.deepEqual(await modified(before), mtimes, "stored segments are unchanged");
    assert.ok(encoded.length > 0 && before.some((name) => name.endsWith(".m4s")));
    let frames = 0;
    for (let n = 0; n < video.model!.segments.count; n++) {
      const parts = await Promise.all(
        (["init", n] as const).map(async (part) => (await segments.findStored(video, "90p", part))!.bytes()),
      );
      await objects.put(`x/${n}`, Buffer.concat(parts));
      frames += await countFrames((await objects.leaseFile(`x/${n}`))!.path);
    }
    assert.equal(frames, await countFrames(path));

    async function modified(of: readonly string[]): Promise<Record<string, number>> {
      const found: Record<string, number> = {};
      for await (const { key, modified: at } of objects.list(`stream/${uid}/`)) {
        const name = key.slice(`stream/${uid}/`.length);
        if (of.includes(name) && !name.startsWith("chunks/")) found[name] = at.getTime();
      }
      return found;
    }
  },
);
