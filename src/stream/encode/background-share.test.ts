import assert from "node:assert/strict";
import { test } from "node:test";
import { clip, needsFfmpeg } from "../../../test/support/media.ts";
import { modelOf, openEncoder } from "./encode.testing.ts";

const VIEWERS = 3;
const CHUNKS = 3;
/**
 * Number of foreground runs within which a background chunk must end: a chunk that is starved never ends. With a
 * twentieth of a processor, which media/background-share.test.ts proves without a clock, it needs about 60, and more
 * while other programs use the processors.
 */
const MAX_RUNS_PER_CHUNK = 1000;

test("background chunks keep starting and ending while viewers keep sending requests", needsFfmpeg, async (t) => {
  const starts: ("urgent" | "soon" | "background")[] = [];
  const { video, segments } = await openEncoder(t, {
    around: (tools) => ({
      ...tools,
      ffmpeg(run) {
        starts.push(run.urgency ?? "background");
        return tools.ffmpeg(run);
      },
    }),
  });
  const path = await clip({ seconds: 6, audio: false });
  const model = modelOf({ seconds: 6, segmentSeconds: 1, audio: false });
  const urgent = () => starts.filter((urgency) => urgency === "urgent").length;
  const tooMany = () => urgent() > CHUNKS * MAX_RUNS_PER_CHUNK;
  const isOver = () => ended === CHUNKS || tooMany();
  let ended = 0;

  /** Requests one segment after another, of one video after another. */
  async function view() {
    while (!isOver()) {
      const of = await video(path, model);
      for (let n = 0; n < 6 && !isOver(); n++) await segments.get(of, "180p", n, { lookahead: false });
    }
  }
  /** Number of urgent runs that had started when each chunk started. */
  const before: number[] = [];
  const control = new AbortController();
  async function fill() {
    const of = await video(path, model);
    for (let chunk = 0; chunk < CHUNKS; chunk++) {
      before.push(urgent());
      await segments.encodeMissing(of, [2 * chunk, 2 * chunk + 1], { signal: control.signal });
      ended++;
    }
  }

  const viewing = Promise.all(Array.from({ length: VIEWERS }, view));
  const filling = fill().catch((err: unknown) => {
    if (!control.signal.aborted) throw err;
  });
  await viewing;
  control.abort(new Error("too many viewer requests came first"));
  await filling;
  t.diagnostic(`${urgent()} urgent runs, chunks started after ${before.join(", ")}`);
  assert.equal(ended, CHUNKS, `${urgent()} urgent runs started while ${ended} chunks ended`);
  assert.equal(starts.filter((urgency) => urgency === "background").length, CHUNKS);
  assert.ok(
    before.every((count, i) => i === 0 || count > before[i - 1]!),
    `requests did not interleave: ${before.join(", ")}`,
  );
});
