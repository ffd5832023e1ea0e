import assert from "node:assert/strict";
import { test } from "node:test";
import { formatTimestamp, formatVtt, parseTime, parseVtt } from "./vtt.ts";

test("reads and writes cues with identifiers, settings and several lines", () => {
  const cues = parseVtt(
    "WEBVTT\r\n\r\nNOTE a comment\r\n\r\n1\r\n00:01.000 --> 00:02.500 line:0\r\nFirst\r\nsecond line\r\n\r\n01:00:00.000 --> 01:00:01.000\r\nLater\r\n",
  );
  assert.deepEqual(cues, [
    { start: 1, end: 2.5, text: "First\nsecond line", settings: "line:0" },
    { start: 3600, end: 3601, text: "Later", settings: "" },
  ]);
  assert.deepEqual(parseVtt(formatVtt(cues)), cues);
});

test("an edited text cannot end its cue", () => {
  const [cue, ...more] = parseVtt(
    formatVtt([{ start: 0, end: 1, text: "a\n\n00:05.000 --> 00:06.000\nb", settings: "" }]),
  );
  assert.equal(cue?.text, "a\n00:05.000 → 00:06.000\nb");
  assert.deepEqual(more, []);
});

test("reads times as people write them", () => {
  assert.deepEqual(["62.5", "1:02.5", "0:01:02.500", "x", "1:", ""].map(parseTime), [
    62.5,
    62.5,
    62.5,
    undefined,
    undefined,
    undefined,
  ]);
  assert.deepEqual([0, 62.5, 3661.25].map(formatTimestamp), ["00:00.000", "01:02.500", "01:01:01.250"]);
});
