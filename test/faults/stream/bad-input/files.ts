import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { clip, type ClipRecipe } from "../../../support/media.ts";
import { uploadForm } from "../senders.ts";
import { waitForFinalState } from "../server.ts";
import { get, segmentsOf } from "../viewer.ts";
import type { BadInputFixture } from "./fixture.ts";
import { uploadTus } from "./tus.ts";

const flat = (size: string): ClipRecipe => ({
  inputs: ["-f", "lavfi", "-i", `color=size=${size}:rate=10:duration=0.3`],
  video: ["-c:v", "mjpeg", "-pix_fmt", "yuvj420p"],
  audio: false,
  extension: "mov",
});

/** Resolves with a four-second file whose headers claim a duration of eleven hours. */
async function claiming11Hours(): Promise<Buffer> {
  const file = await readFile(await clip());
  for (const [name, at] of [
    ["mvhd", 16],
    ["tkhd", 20],
    ["mdhd", 16],
  ] as const) {
    for (let box = file.indexOf(name, 0, "latin1"); box !== -1; box = file.indexOf(name, box + 4, "latin1")) {
      const scale = name === "tkhd" ? 1000 : file.readUInt32BE(box + 16);
      file.writeUInt32BE(Math.min(0xffff_ffff, 11 * 3600 * scale), box + 4 + at);
    }
  }
  return file;
}

async function streams(count: number): Promise<string> {
  const one = await clip({ seconds: 0.5, audio: false });
  return clip({
    inputs: ["-i", one, ...Array.from({ length: count }, () => ["-map", "0:v"]).flat()],
    video: ["-c", "copy"],
    audio: false,
    extension: "mkv",
  });
}

/** Tests with files that are not videos, are broken or are oversized. */
export function testBadFiles(given: BadInputFixture): void {
  test(
    "files that are not videos, are broken, or are oversized get the corresponding error, and the others play",
    { timeout: 240_000 },
    async () => {
      const { server, objects, good, answers } = given;
      const [plain, seekable] = await Promise.all([
        readFile(await clip()),
        clip({ seconds: 8, keyframeSeconds: 1, keep: 0.5, output: ["-movflags", "+faststart"] }),
      ]);
      const secret = join(objects, "stream", good, "source");
      const playlist = `#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\n${secret}\n#EXT-X-ENDLIST\n`;
      const files: [name: string, file: Buffer | string, state: "ready" | RegExp][] = [
        ["garbage", randomBytes(200_000), /^ERR_NON_VIDEO$/],
        ["zeros", Buffer.alloc(100_000), /^ERR_NON_VIDEO$/],
        [
          "one that was truncated before its index",
          plain.subarray(0, Math.floor(plain.length * 0.6)),
          /^ERR_MALFORMED_VIDEO$/,
        ],
        ["one that was truncated after its index", seekable, "ready"],
        ["frames of 72 million pixels", await clip(flat("9000x8000")), /^ERR_MALFORMED_VIDEO$/],
        ["a thousand frames a second", await clip({ fps: "1000", seconds: 2, size: "64x64", audio: false }), "ready"],
        ["60 streams", await streams(60), "ready"],
        ["120 streams", await streams(120), /^ERR_(MALFORMED|NON)_VIDEO$/],
        ["0.05 s", await clip({ seconds: 0.05, fps: "60", audio: false }), /^ERR_DURATION_TOO_SHORT$/],
        [
          "one picture for eleven hours",
          await clip({
            seconds: 2,
            fps: "1",
            audio: false,
            filter: "setpts=N*39600/TB",
            output: ["-fps_mode", "passthrough"],
          }),
          /^ERR_DURATION_EXCEED_CONSTRAINT$/,
        ],
        ["four seconds that claim to be eleven hours", await claiming11Hours(), "ready"],
      ];
      // Text is rejected before it is stored, both over TUS and in a form.
      for (const text of [playlist, `ffconcat version 1.0\nfile '${secret}'\nfile /etc/passwd\n`])
        await assert.rejects(uploadTus(server, Buffer.from(text)), /The file is not a video: it is text/);
      const uids = await Promise.all(
        files.map(async ([, file]) => uploadForm(server, typeof file === "string" ? await readFile(file) : file)),
      );
      for (const [i, [name, , expected]] of files.entries()) {
        const { status, readyToStream, duration } = await waitForFinalState(server, uids[i]!);
        answers.push(JSON.stringify(status));
        if (expected === "ready") {
          assert.deepEqual([status.state, readyToStream], ["ready", true], `${name}: ${JSON.stringify(status)}`);
          assert.ok(duration > 0.1 && duration < 8.1, `${name}: ${duration} s`);
          for (const segments of (await segmentsOf(server.ready.url, uids[i]!)).values())
            for (const segment of segments) assert.equal((await get(segment)).status, 200, `${name}: ${segment}`);
          continue;
        }
        assert.deepEqual([status.state, readyToStream], ["error", false], `${name}: ${JSON.stringify(status)}`);
        assert.match(status.errorReasonCode, expected, name);
        assert.notEqual(status.errorReasonText, "");
        for (const path of [
          "manifest/video.m3u8",
          "manifest/video.mpd",
          "thumbnails/thumbnail.jpg",
          "segments/180p/0.m4s",
          "segments/audio/init.mp4",
        ])
          assert.equal((await get(`${server.ready.url}/${uids[i]!}/${path}`)).status, 424, `${name}: ${path}`);
      }
    },
  );
}
