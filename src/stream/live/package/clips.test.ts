import assert from "node:assert/strict";
import { test } from "node:test";
import type { LiveTimeline } from "../timeline.ts";
import { runOf } from "./package.testing.ts";
import { readPlaylist } from "./read-playlist.testing.ts";
import { feed, INPUT, liveWorld, uris, VIDEO } from "./playback.testing.ts";
import { positionOf, segmentsBetween } from "./queries.ts";

test("serves previews and instant clips", async (t) => {
  const { broadcast, get } = await liveWorld(t);
  feed(broadcast.run(runOf(1)), 61);
  const preview = await get("manifest/video.m3u8?duration=30s");
  assert.deepEqual(
    [preview.headers.get("preview-start-seconds"), preview.headers.get("stream-media-id")],
    ["30.000", VIDEO],
  );
  assert.deepEqual(uris(preview.text), ["source.m3u8?from=15&to=29", "90p.m3u8?from=15&to=29"]);
  const shown = readPlaylist((await get("manifest/source.m3u8?from=15&to=29")).text);
  assert.deepEqual([shown.ended, shown.segments.length, shown.sequence], [true, 15, 15]);

  const clip = await get("manifest/clip.m3u8?time=33s&duration=4s");
  assert.deepEqual(uris(clip.text)[0], "source.m3u8?from=16&to=18&start=1.000");
  const media = (await get("manifest/source.m3u8?from=16&to=18&start=1.000")).text;
  assert.match(media, /#EXT-X-START:TIME-OFFSET=1.000,PRECISE=YES/);
  assert.equal(readPlaylist(media).segments.length, 3);
  for (const query of ["", "?time=1s", "?time=1s&duration=61s", "?time=500s&duration=5s", "?time=x&duration=5s"])
    assert.equal((await get(`manifest/clip.m3u8${query}`)).status, 400, query);
  for (const query of ["?duration=6m", "?duration=0", "?duration=abc"])
    assert.equal((await get(`manifest/video.m3u8${query}`)).status, 400, query);
  assert.match((await get("manifest/clip.m3u8?time=1s&duration=5s", INPUT)).text, /the uid of a video/);
});

test("the start of a clip is determined by its video, and audio is cut slightly before or after", () => {
  const timeline: LiveTimeline = {
    video: VIDEO,
    ended: true,
    runs: [runOf(1)].map((run) => ({ ...run, renditions: [...run.renditions] })),
    segments: Array.from({ length: 100 }, (_, n) => ({
      n,
      run: 0,
      start: n * 2,
      durations: { source: 2, "90p": 2, audio: n % 2 === 0 ? 2.1 : 1.9 },
    })),
  };
  assert.deepEqual(segmentsBetween(timeline, 120, 10), { from: 60, to: 64, start: 0 });
  assert.deepEqual(segmentsBetween(timeline, 121.5, 1), { from: 60, to: 61, start: 1.5 });
  assert.deepEqual(segmentsBetween(timeline, 198, 60), { from: 99, to: 99, start: 0 });
  assert.equal(segmentsBetween(timeline, 200, 1), undefined);
  assert.equal(positionOf(timeline, 51), 102);
});
