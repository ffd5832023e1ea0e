import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  withCompletion,
  withFailure,
  withFile,
  withModel,
  withReadyToStream,
  withProgress,
  withRecording,
  withUpload,
} from "./states.ts";
import type { Video, VideoState } from "./video.ts";
import { testModel, testVideo } from "./videos.testing.ts";

/** Allowed state transitions of the API. */
const FOLLOWS: Record<VideoState, VideoState[]> = {
  pendingupload: ["queued", "error"],
  downloading: ["queued", "error"],
  queued: ["inprogress", "error"],
  inprogress: ["ready", "error"],
  ready: [],
  error: [],
  "live-inprogress": ["ready", "error"],
};

type Step = (video: Video, now: number) => Video | undefined;
const anyStep: fc.Arbitrary<[string, Step]> = fc.oneof(
  fc.constant<[string, Step]>(["uploaded", (video, now) => withUpload(video, { key: "k", size: 5 }, now)]),
  fc
    .double({ min: 0.1, max: 100, noNaN: true })
    .map<[string, Step]>((duration) => ["modelled", (video, now) => withModel(video, testModel(duration), now)]),
  fc.constant<[string, Step]>(["playable", withReadyToStream]),
  fc
    .double({ min: 0, max: 120, noNaN: true })
    .map<[string, Step]>((pct) => ["progress", (video) => withProgress(video, pct)]),
  fc.constant<[string, Step]>(["finished", withCompletion]),
  fc.constant<[string, Step]>([
    "recorded",
    (video, now) =>
      withRecording(video, { duration: 8, size: 5, input: { width: 1, height: 1 }, scheduledDeletion: null }, now),
  ]),
  fc.constant<[string, Step]>(["assembled", (video, now) => withFile(video, { key: "k", model: testModel(8) }, now)]),
  fc
    .constantFrom<(string | undefined)[]>(undefined, "", "why")
    .map<[string, Step]>((text) => ["failed", (video, now) => withFailure(video, "ERR_UNKNOWN", text, now)]),
);

test("any sequence of operations causes only allowed transitions", () => {
  fc.assert(
    fc.property(
      fc.constantFrom<VideoState[]>("pendingupload", "downloading", "queued", "inprogress", "live-inprogress"),
      fc.option(fc.integer({ min: 1, max: 60 })),
      fc.array(anyStep, { maxLength: 20 }),
      (state, maxDurationSeconds, steps) => {
        const model = testModel(0.5);
        let video = testVideo({
          state,
          maxDurationSeconds,
          ...(state === "live-inprogress" && { liveInput: "1".repeat(32) }),
          ...(state === "inprogress" && { model, duration: model.duration, step: "encoding", sourceKey: "k" }),
        });
        for (const [index, [name, step]] of steps.entries()) {
          const copy = structuredClone(video);
          const next = step(video, 1000 + index);
          assert.deepEqual(video, copy, "the previous video is unchanged");
          if (next === undefined) continue;
          const text = `${video.state} -${name}-> ${next.state}`;
          if (next.state !== video.state) assert.ok(FOLLOWS[video.state].includes(next.state), text);
          assert.ok(next.pctComplete >= video.pctComplete, `${text}: back to ${next.pctComplete}`);
          assert.equal(next.pctComplete === 100, next.state === "ready", text);
          assert.equal(next.readyToStream, next.readyToStreamAt !== null, text);
          const live = next.liveInput !== undefined;
          if (next.readyToStream)
            assert.ok(
              live
                ? ["live-inprogress", "ready"].includes(next.state)
                : ["inprogress", "ready"].includes(next.state) && next.model !== null,
              text,
            );
          if (video.readyToStream && next.readyToStream)
            assert.equal(next.readyToStreamAt, video.readyToStreamAt, text);
          if (video.model !== null) assert.equal(next.model, video.model, `${text}: another model`);
          if (live) assert.equal(next.model === null, next.sourceKey === null, text);
          else if (["inprogress", "ready"].includes(next.state))
            assert.ok(next.model !== null && next.duration === next.model.duration && next.sourceKey !== null, text);
          assert.equal(next.errorReason !== undefined, next.state === "error", text);
          assert.equal(next.step !== undefined, ["inprogress", "error"].includes(next.state), text);
          if (next.errorReason) assert.notEqual(next.errorReason.text, "");
          if (next.state === "inprogress")
            assert.ok(next.maxDurationSeconds === null || next.duration < next.maxDurationSeconds + 1, text);
          video = next;
        }
      },
    ),
  );
});

test("a video over its maximum duration reports the excess", () => {
  const video = testVideo({ state: "queued", sourceKey: "k", maxDurationSeconds: 10 });
  assert.equal(withModel(video, testModel(10.04), 5)?.state, "inprogress");
  const failed = withModel(video, testModel(11.3), 5)!;
  assert.deepEqual(
    [failed.state, failed.errorReason],
    [
      "error",
      {
        code: "ERR_DURATION_EXCEED_CONSTRAINT",
        text: "The video is 11.30 seconds long; at most 10 (maxDurationSeconds) are allowed.",
      },
    ],
  );
});

test("error reasons have the texts that clients match on", () => {
  const text = (code: "ERR_NON_VIDEO" | "ERR_MALFORMED_VIDEO") =>
    withFailure(testVideo(), code, undefined, 1)!.errorReason!.text;
  assert.equal(text("ERR_NON_VIDEO"), "The file was not recognized as a valid video file.");
  assert.equal(text("ERR_MALFORMED_VIDEO"), "The video was deemed to be corrupted or malformed.");
});
