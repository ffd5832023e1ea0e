import assert from "node:assert/strict";
import { test } from "node:test";
import type { LiveTimeline } from "../timeline.ts";
import { createBroadcast } from "./broadcast.ts";
import { liveDash } from "./dash.ts";
import { runOf, AUDIO_RENDITION, SOURCE } from "./package.testing.ts";
import { assertValid, readPlaylist } from "./read-playlist.testing.ts";
import { feed, liveWorld, uris, VIDEO } from "./playback.testing.ts";

test("a reconnected publisher causes a discontinuity in the HLS playlist and a new period in DASH", async (t) => {
  const { broadcast, get } = await liveWorld(t);
  const first = broadcast.run(runOf(1));
  feed(first, 5);
  first.end();
  assert.equal(readPlaylist((await get("manifest/source.m3u8?protocol=llhls")).text).hint, undefined);
  feed(broadcast.run(runOf(2, { renditions: [SOURCE, AUDIO_RENDITION] })), 5, {
    from: 2,
    renditions: [SOURCE, AUDIO_RENDITION],
  });
  assert.deepEqual(
    uris((await get("manifest/video.m3u8")).text),
    ["source.m3u8?protocol=hls"],
    "only the renditions that are being encoded",
  );
  const { segments } = readPlaylist((await get("manifest/source.m3u8?protocol=hls")).text);
  assert.deepEqual(
    segments.map(({ discontinuity, init }) => [discontinuity, init!.slice(-5)]),
    [...Array.from({ length: 3 }, () => [0, "1.mp4"]), ...Array.from({ length: 2 }, () => [1, "2.mp4"])],
  );
  const mpd = (await get("manifest/video.mpd")).text;
  assert.match(
    mpd,
    /type="dynamic" availabilityStartTime="2026-11-23T00:01:40.000Z" .*minimumUpdatePeriod="PT2S" timeShiftBufferDepth="PT30S" suggestedPresentationDelay="PT6S"/,
  );
  assert.match(mpd, /<Period id="0{31}1" start="PT0S" duration="PT5S">[^]*<Period id="0{31}2" start="PT100S">/);
  assert.match(
    mpd,
    /presentationTimeOffset="0" [^>]*startNumber="3">\s*<SegmentTimeline>\s*<S t="2000000" d="2000000" r="1"\/>/,
  );
  broadcast.end();
  assert.deepEqual(
    uris((await get("manifest/video.m3u8")).text),
    ["source.m3u8"],
    "only the renditions that cover the whole broadcast",
  );
  const ended = (await get("manifest/video.mpd")).text;
  assert.match(ended, /type="static" mediaPresentationDuration="PT10.001S"/);
  assert.match(ended, /<Period id="0{31}2" start="PT5S" duration="PT5.001S">[^]*presentationTimeOffset="2000000"/);
  assert.doesNotMatch(ended, /UTCTiming|90p/);
});

test("a dropped rendition remains available while part of it is listed, and its playlists continue", async (t) => {
  for (const [before, now, gone] of [
    [[SOURCE, AUDIO_RENDITION], [SOURCE], "audio"],
    [[SOURCE, AUDIO_RENDITION], [AUDIO_RENDITION], "source"],
    [[AUDIO_RENDITION], [SOURCE], "audio"],
  ] as const) {
    const { broadcast, get, getElsewhere } = await liveWorld(t);
    const first = broadcast.run(runOf(1, { renditions: before }));
    feed(first, 4, { renditions: [...before] });
    first.end();
    feed(broadcast.run(runOf(2, { renditions: now })), 5, { renditions: [...now] });
    for (const ask of [get, getElsewhere]) {
      const { status, text } = await ask(`manifest/${gone}.m3u8?protocol=hls`);
      assert.equal(status, 200);
      const read = readPlaylist(text);
      assertValid(read);
      assert.deepEqual(
        read.segments.map(({ gap }) => gap),
        [false, false, true, true],
      );
      const [of1, of2] = (await ask("manifest/video.mpd")).text
        .split("</Period>")
        .map((period) => [...period.matchAll(/<Representation id="([^"]*)"/g)].map(([, name]) => name));
      assert.deepEqual(
        [of1, of2],
        [before, now].map((renditions) => renditions.map(({ name }) => name)),
      );
    }
    assert.equal((await get("manifest/90p.m3u8")).status, 404);
    assert.equal((await get(`manifest/${gone}.m3u8?protocol=llhls&_HLS_msn=3&_HLS_part=0`)).status, 200);
    broadcast.end();
    assert.equal(
      readPlaylist((await get(`manifest/${gone}.m3u8?protocol=hls`)).text).ended,
      true,
      "clients of a removed rendition receive the end",
    );
  }
});

test("when a publisher reconnects to another process, that process's segments are served as soon as they exist", async (t) => {
  const { broadcast, get, packages, taken } = await liveWorld(t);
  const sink = broadcast.run(runOf(1));
  feed(sink, 4);
  sink.end();
  assert.equal(readPlaylist((await get("manifest/source.m3u8?protocol=hls")).text).segments.length, 2);
  const elsewhere = createBroadcast({
    video: VIDEO,
    timeline: broadcast.timeline(),
    segmentSeconds: 2,
    partSeconds: 0.333,
    onEnd() {},
  });
  taken(elsewhere);
  feed(elsewhere.run(runOf(2)), 5);
  const { segments, ended } = readPlaylist((await get("manifest/source.m3u8?protocol=llhls")).text);
  assert.deepEqual(
    [segments.map(({ n, discontinuity }) => [n, discontinuity]), ended],
    [
      [
        [0, 0],
        [1, 0],
        [2, 1],
        [3, 1],
      ],
      false,
    ],
  );
  broadcast.stop();
  assert.equal(packages.of(VIDEO), undefined);
  elsewhere.end();
  assert.deepEqual(uris((await get("manifest/video.m3u8")).text), ["source.m3u8", "90p.m3u8"]);
});

test("a publisher's connection without segments has no DASH period", () => {
  const [first, second] = [runOf(1), runOf(2, { renditions: [] })].map((run) => ({
    ...run,
    renditions: [...run.renditions],
  }));
  const timeline: LiveTimeline = {
    video: VIDEO,
    ended: false,
    runs: [first!, second!],
    segments: [
      { n: 0, run: 0, start: 0, durations: { source: 2 } },
      { n: 1, run: 1, start: 0, durations: {} },
    ],
  };
  const mpd = liveDash({ timeline, renditions: [SOURCE], targetDuration: 2 }, { now: 0, suffix: "" });
  assert.equal(mpd.match(/<Period /g)!.length, 1);
  assert.doesNotMatch(mpd, /Infinity/);
});
