import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { isFfmpeg, openTools, processesWith } from "./media.testing.ts";
import { MediaRunError } from "./run-error.ts";
import { endlessArgs, isRunError, SANDBOXES, temporaryFolder, uniqueWord, until } from "./runs.testing.ts";

for (const { sandbox, needs } of SANDBOXES) {
  describe(`a program confined by ${sandbox}`, needs, () => {
    test("is killed when it exceeds its time, CPU time, output or memory limit", async (t) => {
      const tools = openTools(t, { sandbox, urgent_encoders: 4 });
      await tools.ready();
      const word = uniqueWord();
      const start = performance.now();
      await assert.rejects(
        tools.ffmpeg({ args: endlessArgs(word), reads: [], wallMs: 300 }),
        isRunError("timeout", /300 ms/),
      );
      assert.ok(performance.now() - start < 60_000);
      await assert.rejects(tools.ffmpeg({ args: endlessArgs(word), reads: [], cpuSeconds: 1 }), isRunError("killed"));
      await assert.rejects(
        tools.ffmpeg({
          args: ["-f", "lavfi", "-i", "testsrc2=size=640x360", "-f", "rawvideo", "pipe:1"],
          reads: [],
          outputBytes: 1_000_000,
        }),
        isRunError("output", /1000000/),
      );
      await assert.rejects(
        tools.ffmpeg({
          args: [
            "-f",
            "lavfi",
            "-i",
            "testsrc2=size=1920x1080",
            "-frames:v",
            "60",
            "-c:v",
            "libx264",
            "-f",
            "null",
            "-",
          ],
          reads: [],
          memoryMb: 420,
        }),
        (err) => err instanceof MediaRunError && ["memory", "failed", "killed"].includes(err.reason),
      );
      await until(() => processesWith(word).length === 0, "the killed processes to exit");
    });

    test("can write only files of a limited size", async (t) => {
      const writes = await temporaryFolder(t);
      const args = [
        "-f",
        "lavfi",
        "-i",
        "testsrc2=size=640x360",
        "-frames:v",
        "100",
        "-f",
        "rawvideo",
        join(writes, "big"),
      ];
      await assert.rejects(
        openTools(t, { sandbox }).ffmpeg({ args, reads: [], writes, fileBytes: 500_000 }),
        isRunError("output", /file size limit/),
      );
      assert.ok(statSync(join(writes, "big")).size <= 500_000);
    });

    test("is killed when it is aborted, when its reader fails, and when the tools are closed", async (t) => {
      const tools = openTools(t, { sandbox });
      const word = uniqueWord();
      const started = (n: number) => until(() => processesWith(word).length >= n, "the process to start");
      const leaving = new AbortController();
      const left = assert.rejects(
        tools.ffmpeg({ args: endlessArgs(word), reads: [], signal: leaving.signal, urgency: "urgent" }),
        isRunError("aborted"),
      );
      await started(1);
      leaving.abort(new Error("the viewer left"));
      await left;
      const broken = new Error("disk full");
      await assert.rejects(
        tools.ffmpeg({
          args: ["-f", "lavfi", "-i", "testsrc2", "-metadata", `title=${word}`, "-f", "rawvideo", "pipe:1"],
          reads: [],
          onOutput: () => Promise.reject(broken),
        }),
        broken,
      );
      await until(() => processesWith(word).length === 0, "the processes to exit");
      const closed = assert.rejects(
        tools.ffmpeg({ args: endlessArgs(word), reads: [], urgency: "urgent" }),
        isRunError("closed"),
      );
      await started(1);
      await tools.close();
      await closed;
      await until(() => processesWith(word).length === 0, "the process to exit");
    });
  });
}

describe("when the server dies", () => {
  for (const { sandbox, needs } of SANDBOXES) {
    test(`children confined by ${sandbox} are killed too`, needs, async (t) => {
      const word = uniqueWord();
      const program = `
        import { createMediaTools } from ${JSON.stringify(import.meta.resolve("./tools.ts"))};
        const log = { warn() {}, debug() {} };
        const tools = createMediaTools({ settings: { ffmpeg: "", ffprobe: "", sandbox: ${JSON.stringify(sandbox)}, user_id: 70000, encoders: 0, urgent_encoders: 0 }, log });
        await Promise.all(["urgent", "background"].map((urgency) => tools.ffmpeg({ args: ${JSON.stringify(endlessArgs(word))}, reads: [], urgency })));`;
      const server = spawn(process.execPath, ["--input-type=module", "-e", program], {
        stdio: ["ignore", "ignore", "inherit"],
      });
      t.after(() => void server.kill("SIGKILL"));
      // The command line of the test's own process contains the word too.
      const children = () => processesWith(word).filter((pid) => pid !== server.pid);
      await until(() => children().filter((pid) => isFfmpeg(pid)).length >= 2, "both processes to start");
      server.kill("SIGKILL");
      await until(() => children().length === 0, "the processes to exit");
    });
  }
});
