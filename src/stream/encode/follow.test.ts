import assert from "node:assert/strict";
import { test } from "node:test";
import { clip, mediaClips, needsFfmpeg } from "../../../test/support/media.ts";
import type { ObjectHandle } from "../../store/index.ts";
import type { MediaRun, MediaTools } from "../media/port.ts";
import { MediaRunError } from "../media/run-error.ts";
import { modelOf, openEncoder, rung } from "./encode.testing.ts";
import { createFollower } from "./follower.ts";
import { segmentKey, type GrowingSegment } from "./port.ts";

const model = modelOf({
  seconds: 10,
  fps: { num: 30_000, den: 1001 },
  frames: 300,
  ladder: [rung("90p", 160, 90)],
  segmentSeconds: 1,
});

/** Runs ffmpeg, but passes on only half of its output until the test decides how the run continues. */
function pausing() {
  const paused: { run: MediaRun; finish(): void; fail(err: unknown): void }[] = [];
  let arrived = () => {};
  return {
    paused,
    around: (tools: MediaTools): MediaTools => ({
      ...tools,
      async ffmpeg(run) {
        const pieces: Buffer[] = [];
        const result = await tools.ffmpeg({ ...run, onOutput: (piece) => void pieces.push(piece) });
        const output = Buffer.concat(pieces);
        await run.onOutput!(output.subarray(0, output.length / 2));
        await new Promise<void>((finish, fail) => {
          run.signal?.addEventListener("abort", () => fail(new MediaRunError("aborted", "cancelled")), { once: true });
          paused.push({ run, finish, fail });
          arrived();
        });
        await run.onOutput!(output.subarray(output.length / 2));
        return result;
      },
    }),
    async arrive(count: number) {
      while (paused.length < count) await new Promise<void>((resolve) => (arrived = resolve));
    },
  };
}

function growing(found: GrowingSegment | ObjectHandle | undefined): GrowingSegment {
  assert.ok(found !== undefined && !("size" in found), "the segment is still being encoded");
  return found;
}

function iterate(segment: GrowingSegment): AsyncIterator<Buffer> {
  const chunks = segment.read();
  return chunks[Symbol.asyncIterator]();
}

async function drain(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts);
}

test("followers get the beginning while the encoder runs, and in the end the stored octets", needsFfmpeg, async (t) => {
  const encoder = pausing();
  const { video, segments, objects, runs } = await openEncoder(t, { around: encoder.around });
  const of = await video(await clip(mediaClips.ntsc), model);
  let isWhole = false;
  const whole = segments.get(of, "90p", 3).then((handle) => ((isWhole = true), handle));
  const [one, two] = await Promise.all([segments.follow(of, "90p", 3), segments.follow(of, "90p", 3)]);
  const reading = iterate(growing(one));
  const first = (await reading.next()).value as Buffer;
  assert.equal(first.toString("latin1", 4, 8), "moof");
  assert.equal(isWhole, false);
  assert.equal(await objects.open(segmentKey(of.uid, "90p", 3)), undefined);
  await encoder.arrive(1);
  const late = await segments.follow(of, "90p", 3);
  encoder.paused[0]!.finish();
  const stored = await (await whole)!.bytes();
  assert.deepEqual(Buffer.concat([first, await drain({ [Symbol.asyncIterator]: () => reading })]), stored);
  for (const follower of [two, late]) assert.deepEqual(await drain(growing(follower).read()), stored);
  assert.ok("size" in (await segments.follow(of, "90p", 3))!, "later requests get the object");
  assert.equal(runs.filter((args) => args.some((arg) => arg.includes("trim=start_pts=90:"))).length, 1);
});

test(
  "a run that fails midway aborts its followers; those waiting for the whole get it later",
  needsFfmpeg,
  async (t) => {
    const encoder = pausing();
    const { video, segments } = await openEncoder(t, { around: encoder.around });
    const of = await video(await clip(mediaClips.ntsc), model);
    const whole = segments.get(of, "90p", 3);
    const follower = growing(await segments.follow(of, "90p", 3));
    await encoder.arrive(1);
    encoder.paused[0]!.fail(new MediaRunError("killed", "ffmpeg was killed"));
    await assert.rejects(drain(follower.read()), /the encoder was killed/);
    const again = growing(await segments.follow(of, "90p", 3));
    await encoder.arrive(2);
    encoder.paused[1]!.finish();
    assert.deepEqual(await drain(again.read()), await (await whole)!.bytes());
  },
);

test(
  "followers are aborted if another process stores other octets, or if the video is deleted",
  needsFfmpeg,
  async (t) => {
    const encoder = pausing();
    let exists = true;
    const { video, segments, objects } = await openEncoder(t, {
      around: encoder.around,
      videoExists: async () => exists,
    });
    const of = await video(await clip(mediaClips.ntsc), model);
    const other = growing(await segments.follow(of, "90p", 3));
    await objects.put(segmentKey(of.uid, "90p", 3), Buffer.alloc(2000));
    await encoder.arrive(1);
    encoder.paused[0]!.finish();
    await assert.rejects(drain(other.read()), /stored by another encoder run/);
    const deleted = growing(await segments.follow(of, "90p", 9));
    await encoder.arrive(2);
    exists = false;
    encoder.paused.at(-1)!.finish();
    await assert.rejects(drain(deleted.read()), /the video was deleted/);
    assert.equal(await objects.open(segmentKey(of.uid, "90p", 9)), undefined);
  },
);

test("the encoder stops when its last follower disconnects", needsFfmpeg, async (t) => {
  const encoder = pausing();
  const { video, segments } = await openEncoder(t, { around: encoder.around });
  const of = await video(await clip(mediaClips.ntsc), model);
  const [one, two] = [new AbortController(), new AbortController()];
  const followers = await Promise.all([one, two].map(({ signal }) => segments.follow(of, "90p", 3, { signal })));
  await encoder.arrive(1);
  const { signal } = encoder.paused[0]!.run;
  one.abort(new Error("left"));
  assert.equal(signal!.aborted, false);
  two.abort(new Error("left"));
  assert.equal(signal!.aborted, true);
  for (const follower of followers) await assert.rejects(drain(growing(follower).read()), /left/);
});

test("a reader that falls behind gets the rest from the object, not from memory", async () => {
  const { waiter, begun } = createFollower();
  waiter.onChunk([Buffer.from("one"), Buffer.from("two")]);
  const reader = iterate(growing(await begun));
  assert.equal(String((await reader.next()).value), "one");
  const starts: unknown[] = [];
  waiter.resolve({
    size: 9,
    read: (range: { start: number }) => (starts.push(range), [Buffer.from("TWO345")]),
  } as unknown as ObjectHandle);
  assert.equal(String((await reader.next()).value), "TWO345");
  assert.equal((await reader.next()).done, true);
  assert.deepEqual(starts, [{ start: 3 }]);
});
