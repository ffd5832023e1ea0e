import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { clip } from "../../../test/support/media.ts";
import { openTools } from "./media.testing.ts";
import { connectionCounter, isRunError, SANDBOXES, temporaryFolder } from "./runs.testing.ts";

for (const { sandbox, needs } of SANDBOXES) {
  describe(`a program confined by ${sandbox}`, needs, () => {
    test("reads its input file and writes to standard output", async (t) => {
      const tools = openTools(t, { sandbox });
      const path = await clip();
      const { output } = await tools.ffprobe({
        args: ["-show_entries", "format=duration", "-of", "csv=p=0", "-i", path],
        reads: [path],
        urgency: "urgent",
      });
      assert.equal(output.toString(), "4.000000\n");
      const pieces: number[] = [];
      const { output: kept } = await tools.ffmpeg({
        args: ["-i", path, "-frames:v", "10", "-f", "rawvideo", "pipe:1"],
        reads: [path],
        outputBytes: 1,
        onOutput: async (chunk) => void pieces.push(chunk.length),
      });
      assert.deepEqual([pieces.reduce((a, b) => a + b), kept.length], [10 * 320 * 180 * 1.5, 0]);
    });

    test("writes to its folder", async (t) => {
      const path = await clip();
      const writes = await temporaryFolder(t);
      await openTools(t, { sandbox }).ffmpeg({
        args: ["-i", path, "-c", "copy", join(writes, "copy.mkv")],
        reads: [path],
        writes,
      });
      assert.ok(existsSync(join(writes, "copy.mkv")));
    });

    test("does not open playlists and scripts with an mp4 extension, or the files they refer to", async (t) => {
      const tools = openTools(t, { sandbox });
      const { port, connections } = await connectionCounter(t);
      const at = await temporaryFolder(t);
      const secret = await clip();
      const disguised = {
        hls: `#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\nhttp://127.0.0.1:${port}/a.ts\n#EXT-X-ENDLIST\n`,
        "hls of a file": `#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\nfile://${secret}\n#EXT-X-ENDLIST\n`,
        concat: `ffconcat version 1.0\nfile '${secret}'\n`,
        dash: `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><Period><BaseURL>http://127.0.0.1:${port}/</BaseURL></Period></MPD>`,
        sdp: `v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video ${port} RTP/AVP 96\na=rtpmap:96 H264/90000\n`,
      };
      for (const [name, text] of Object.entries(disguised)) {
        const path = join(at, `${name}.mp4`);
        await writeFile(path, text);
        // The file that they refer to is readable, so only the container check prevents access.
        for (const program of ["ffprobe", "ffmpeg"] as const) {
          const args = program === "ffprobe" ? ["-show_format", "-i", path] : ["-i", path, "-f", "null", "-"];
          await assert.rejects(
            tools[program]({ args, reads: [path, secret] }),
            isRunError("failed", /whitelist|Invalid data/),
            `${program} of ${name}`,
          );
        }
      }
      assert.equal(connections(), 0);
    });

    test("rejects network inputs", async (t) => {
      const { port, connections } = await connectionCounter(t);
      const args = ["-protocol_whitelist", "file,http,tcp", "-i", `http://127.0.0.1:${port}/a.mp4`, "-f", "null", "-"];
      await assert.rejects(
        openTools(t, { sandbox }).ffmpeg({ args, reads: [] }),
        isRunError("failed", /not on whitelist/i),
      );
      assert.equal(connections(), 0);
    });
  });
}
