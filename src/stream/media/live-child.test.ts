import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { clip, needsFfmpeg } from "../../../test/support/media.ts";
import { UserError } from "../../kernel/index.ts";
import { openTools, processesWith } from "./media.testing.ts";
import { MediaRunError } from "./run-error.ts";
import { connectionCounter, endlessArgs, isRunError, SANDBOXES, uniqueWord, until } from "./runs.testing.ts";
import type { MediaRunReport } from "./tools.ts";

const stream = async () => readFile(await clip({ extension: "ts", seconds: 2 }));
const copy = ["-f", "mpegts", "-i", "pipe:0", "-map", "0:v", "-c", "copy", "-f", "mpegts", "pipe:3"];
const toPipe = ["-f", "rawvideo", "pipe:3"];
const nothing = () => {};

for (const { sandbox, needs } of SANDBOXES) {
  describe(`a live run confined by ${sandbox}`, needs, () => {
    test("accepts input before it has started, writes to several pipes, and ends when its input does", async (t) => {
      const reports: MediaRunReport[] = [];
      const tools = openTools(t, { sandbox }, { onRun: (run) => void reports.push(run) });
      const sizes = [0, 0];
      const run = tools.live({
        args: [
          "-f",
          "mpegts",
          "-i",
          "pipe:0",
          "-map",
          "0:v",
          "-fps_mode",
          "passthrough",
          "-f",
          "rawvideo",
          "pipe:3",
          "-map",
          "0:a",
          "-f",
          "s16le",
          "-ac",
          "1",
          "-ar",
          "8000",
          "pipe:4",
        ],
        outputs: [async (chunk) => void (sizes[0]! += chunk.length), (chunk) => void (sizes[1]! += chunk.length)],
      });
      const bytes = await stream();
      for (let at = 0; at < bytes.length; at += 10_000) run.stdin.write(bytes.subarray(at, at + 10_000));
      run.stdin.end();
      assert.deepEqual(await run.done.then(({ output }) => output.length), 0);
      assert.equal(sizes[0], 60 * 320 * 180 * 1.5);
      assert.ok(Math.abs(sizes[1]! / 16_000 - 2) < 0.1, `${sizes[1]} octets of audio`);
      assert.deepEqual(
        reports.map(({ program, urgency, outcome }) => [program, urgency, outcome]),
        [["ffmpeg", "urgent", "ok"]],
      );
      assert.equal(run.stdin.writableLength, 0);
      run.kill();
    });

    test("is slowed down by a slow reader, and killed when it stalls", async (t) => {
      const word = uniqueWord();
      let chunks = 0;
      // On a busy machine ffmpeg takes a while to produce the first chunk.
      const run = openTools(t, { sandbox }).live({
        args: endlessArgs(word, toPipe),
        outputs: [() => (chunks++, new Promise<void>((resolve) => void setTimeout(resolve, 120_000).unref()))],
        idleMs: 8000,
      });
      await assert.rejects(run.done, isRunError("timeout"));
      assert.equal(chunks, 1);
      await until(() => processesWith(word).length === 0, "the process to exit");
    });

    test("is killed when it does not read its input", async (t) => {
      const run = openTools(t, { sandbox }).live({
        args: [...endlessArgs(uniqueWord(), toPipe), "-map", "0"],
        outputs: [nothing],
        inputBytes: 1_000_000,
      });
      run.stdin.write(Buffer.alloc(4_000_000));
      await assert.rejects(run.done, isRunError("input"));
      await new Promise((resolve) => run.stdin.end(Buffer.alloc(1000), () => resolve(undefined)));
    });

    test("is killed when it is aborted, when its reader fails, and when the tools are closed", async (t) => {
      const tools = openTools(t, { sandbox });
      const word = uniqueWord();
      let came = false;
      const run = tools.live({ args: endlessArgs(word, toPipe), outputs: [() => void (came = true)] });
      await until(() => came, "the first output");
      run.kill();
      await assert.rejects(run.done, isRunError("aborted"));
      const broken = new Error("disk full");
      await assert.rejects(
        tools.live({ args: endlessArgs(word, toPipe), outputs: [() => Promise.reject(broken)] }).done,
        broken,
      );
      const leaving = AbortSignal.abort();
      await assert.rejects(
        tools.live({ args: endlessArgs(word, toPipe), outputs: [nothing], signal: leaving }).done,
        isRunError("aborted"),
      );
      came = false;
      const last = tools.live({ args: endlessArgs(word, toPipe), outputs: [() => void (came = true)] });
      await until(() => came, "the first output");
      await tools.close();
      await assert.rejects(last.done, isRunError("closed"));
      await until(() => processesWith(word).length === 0, "the processes to exit");
    });

    test("reports errors in its input, and opens no other inputs", async (t) => {
      const tools = openTools(t, { sandbox });
      const run = tools.live({ args: copy, outputs: [nothing] });
      run.stdin.end(Buffer.alloc(5000, "nothing of the sort"));
      await assert.rejects(run.done, isRunError("failed"));
      const { port, connections } = await connectionCounter(t);
      const url = `tcp://127.0.0.1:${port}`;
      for (const input of [await clip(), url])
        await assert.rejects(
          tools.live({ args: ["-i", input, "-f", "null", "-"], outputs: [], network: true }).done,
          (err) => err instanceof MediaRunError && /whitelist/.test(err.stderr),
          input,
        );
      assert.equal(connections(), 0);
    });

    test("connects to other hosts only where allowed", async (t) => {
      const tools = openTools(t, { sandbox });
      const { port, connections } = await connectionCounter(t);
      const url = `tcp://127.0.0.1:${port}`;
      const bytes = await stream();
      const send = async (network: boolean) => {
        const run = tools.live({ args: [...copy.slice(0, -1), url], outputs: [], network });
        run.stdin.end(bytes);
        await run.done;
      };
      await send(true);
      assert.equal(connections(), 1);
      await assert.rejects(send(false), isRunError("failed"));
      assert.equal(connections(), 1);
    });
  });
}

test(
  "a live run reports which package to install if the program is missing, and accepts writes without failing",
  needsFfmpeg,
  async (t) => {
    const run = openTools(t, { ffmpeg: "/nowhere/ffmpeg" }).live({ args: copy, outputs: [nothing] });
    run.stdin.write(await stream());
    await assert.rejects(run.done, (err) => err instanceof UserError && err.kind === "mediaToolsMissing");
    run.stdin.end(await stream());
    await new Promise((resolve) => run.stdin.once("finish", resolve));
  },
);
