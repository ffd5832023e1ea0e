import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { clip, needsFfmpeg, needsPrograms } from "../../../test/support/media.ts";
import { UserError } from "../../kernel/index.ts";
import { openTools, processesWith } from "./media.testing.ts";
import { MediaRunError, type MediaRunReason } from "./run-error.ts";
import type { MediaRunReport } from "./tools.ts";

const ended = (reason: MediaRunReason) => (err: unknown) => {
  assert.ok(err instanceof MediaRunError, String(err));
  assert.equal(err.reason, reason, `${err.message}\n${err.stderr}`);
  return true;
};

async function until(condition: () => boolean, what: string) {
  const late = performance.now() + 60_000;
  while (!condition()) {
    assert.ok(performance.now() < late, `timed out after a minute, waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const stream = async () => readFile(await clip({ extension: "ts", seconds: 2 }));
const copy = ["-f", "mpegts", "-i", "pipe:0", "-map", "0:v", "-c", "copy", "-f", "mpegts", "pipe:3"];
/** Reads no input, so it never ends. */
const endless = (word: string, to: string) => [
  "-f",
  "lavfi",
  "-i",
  "testsrc2=size=64x64:rate=30",
  "-metadata",
  `title=${word}`,
  "-f",
  "rawvideo",
  to,
];
let words = 0;
const newWord = () => `reelpost-live-${process.pid}-${++words}`;
const nothing = () => {};

/** A server that counts connections, and its address. */
async function listener(t: TestContext) {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.on("error", nothing).resume();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => void server.close());
  return { url: `tcp://127.0.0.1:${(server.address() as { port: number }).port}`, connections: () => connections };
}

for (const sandbox of ["bwrap", "landlock", "prlimit"] as const) {
  describe(`a live run confined by ${sandbox}`, needsPrograms(sandbox === "landlock" ? "perl" : sandbox), () => {
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
      const word = newWord();
      let chunks = 0;
      // On a busy machine ffmpeg takes a while to produce the first chunk.
      const run = openTools(t, { sandbox }).live({
        args: endless(word, "pipe:3"),
        outputs: [() => (chunks++, new Promise<void>((resolve) => void setTimeout(resolve, 120_000).unref()))],
        idleMs: 4000,
      });
      await assert.rejects(run.done, ended("timeout"));
      assert.equal(chunks, 1);
      await until(() => processesWith(word).length === 0, "the process to exit");
    });

    test("is killed when it does not read its input", async (t) => {
      const run = openTools(t, { sandbox }).live({
        args: [...endless(newWord(), "pipe:3"), "-map", "0"],
        outputs: [nothing],
        inputBytes: 1_000_000,
      });
      run.stdin.write(Buffer.alloc(4_000_000));
      await assert.rejects(run.done, ended("input"));
      await new Promise((resolve) => run.stdin.end(Buffer.alloc(1000), () => resolve(undefined)));
    });

    test("is killed when it is aborted, when its reader fails, and when the tools are closed", async (t) => {
      const tools = openTools(t, { sandbox });
      const word = newWord();
      let came = false;
      const run = tools.live({ args: endless(word, "pipe:3"), outputs: [() => void (came = true)] });
      await until(() => came, "the first output");
      run.kill();
      await assert.rejects(run.done, ended("aborted"));
      const broken = new Error("disk full");
      await assert.rejects(
        tools.live({ args: endless(word, "pipe:3"), outputs: [() => Promise.reject(broken)] }).done,
        broken,
      );
      const leaving = AbortSignal.abort();
      await assert.rejects(
        tools.live({ args: endless(word, "pipe:3"), outputs: [nothing], signal: leaving }).done,
        ended("aborted"),
      );
      came = false;
      const last = tools.live({ args: endless(word, "pipe:3"), outputs: [() => void (came = true)] });
      await until(() => came, "the first output");
      await tools.close();
      await assert.rejects(last.done, ended("closed"));
      await until(() => processesWith(word).length === 0, "the processes to exit");
    });

    test("reports errors in its input, and opens no other inputs", async (t) => {
      const tools = openTools(t, { sandbox });
      const run = tools.live({ args: copy, outputs: [nothing] });
      run.stdin.end(Buffer.alloc(5000, "nothing of the sort"));
      await assert.rejects(run.done, ended("failed"));
      const { url, connections } = await listener(t);
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
      const { url, connections } = await listener(t);
      const bytes = await stream();
      const send = async (network: boolean) => {
        const run = tools.live({ args: [...copy.slice(0, -1), url], outputs: [], network });
        run.stdin.end(bytes);
        await run.done;
      };
      await send(true);
      assert.equal(connections(), 1);
      await assert.rejects(send(false), ended("failed"));
      assert.equal(connections(), 1);
    });
  });
}

test(
  "without the program a live run reports what to install, and accepts writes without failing",
  needsFfmpeg,
  async (t) => {
    const run = openTools(t, { ffmpeg: "/nowhere/ffmpeg" }).live({ args: copy, outputs: [nothing] });
    run.stdin.write(await stream());
    await assert.rejects(run.done, (err) => err instanceof UserError && err.kind === "mediaToolsMissing");
    run.stdin.end(await stream());
    await new Promise((resolve) => run.stdin.once("finish", resolve));
  },
);
