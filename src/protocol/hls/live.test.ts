import assert from "node:assert/strict";
import { test } from "node:test";
import { type LivePlaylist, writeLivePlaylist } from "./live.ts";

const AT = Date.UTC(2026, 10, 23, 12);
const LOW: LivePlaylist = {
  version: 9,
  targetDuration: 2,
  mediaSequence: 7,
  discontinuitySequence: 1,
  canSkipUntil: 12,
  lowLatency: {
    partTarget: 0.333,
    partHoldBack: 0.999,
    holdBack: 6,
    preloadHint: "9.1.m4s",
    renditionReports: [{ uri: "audio.m3u8", lastSequence: 9, lastPart: 0 }],
  },
  segments: [
    { uri: "7.m4s", duration: 2, init: "init-a.mp4", at: AT },
    {
      uri: "8.m4s",
      duration: 0.64,
      init: "init-b.mp4",
      at: AT + 5000,
      discontinuity: true,
      parts: [
        { uri: "8.0.m4s", duration: 0.32, independent: true },
        { uri: "8.1.m4s", duration: 0.32, independent: false },
      ],
    },
  ],
  open: { init: "init-b.mp4", at: AT + 5640, parts: [{ uri: "9.0.m4s", duration: 1 / 3, independent: true }] },
};

test("a low-latency playlist is written exactly as expected", () => {
  assert.equal(
    writeLivePlaylist(LOW),
    `#EXTM3U
#EXT-X-VERSION:9
#EXT-X-TARGETDURATION:2
#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=12.000,HOLD-BACK=6.000,PART-HOLD-BACK=0.999
#EXT-X-PART-INF:PART-TARGET=0.333
#EXT-X-MEDIA-SEQUENCE:7
#EXT-X-DISCONTINUITY-SEQUENCE:1
#EXT-X-INDEPENDENT-SEGMENTS
#EXT-X-MAP:URI="init-a.mp4"
#EXT-X-PROGRAM-DATE-TIME:2026-11-23T12:00:00.000Z
#EXTINF:2.000,
7.m4s
#EXT-X-DISCONTINUITY
#EXT-X-MAP:URI="init-b.mp4"
#EXT-X-PROGRAM-DATE-TIME:2026-11-23T12:00:05.000Z
#EXT-X-PART:DURATION=0.320,URI="8.0.m4s",INDEPENDENT=YES
#EXT-X-PART:DURATION=0.320,URI="8.1.m4s"
#EXTINF:0.640,
8.m4s
#EXT-X-PROGRAM-DATE-TIME:2026-11-23T12:00:05.640Z
#EXT-X-PART:DURATION=0.333333,URI="9.0.m4s",INDEPENDENT=YES
#EXT-X-PRELOAD-HINT:TYPE=PART,URI="9.1.m4s"
#EXT-X-RENDITION-REPORT:URI="audio.m3u8",LAST-MSN=9,LAST-PART=0
`,
  );
});

test("a delta update omits known segments and their tags, and does not repeat an initialization segment that is still valid", () => {
  const skipping = (second: string) =>
    writeLivePlaylist({
      targetDuration: 2,
      mediaSequence: 7,
      discontinuitySequence: 0,
      skipped: 1,
      segments: [
        { uri: "7.m4s", duration: 2, init: "a.mp4" },
        { uri: "8.m4s", duration: 2, init: second },
      ],
    });
  assert.equal(
    skipping("a.mp4"),
    "#EXTM3U\n#EXT-X-VERSION:9\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:7\n#EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-SKIP:SKIPPED-SEGMENTS=1\n#EXTINF:2.000,\n8.m4s\n",
  );
  assert.match(skipping("b.mp4"), /SKIPPED-SEGMENTS=1\n#EXT-X-MAP:URI="b.mp4"\n/);
});

test("an ended playlist has EXT-X-ENDLIST and no preload hint, and a gap requires a higher EXT-X-VERSION", () => {
  const ended = writeLivePlaylist({ ...LOW, ended: "window" });
  assert.match(ended, /8\.m4s\n#EXT-X-ENDLIST\n$/);
  const whole = writeLivePlaylist({
    targetDuration: 2,
    mediaSequence: 0,
    discontinuitySequence: 0,
    ended: "whole",
    start: 1.5,
    segments: [
      { uri: "0.m4s", duration: 2, init: "a.mp4" },
      { uri: "1.m4s", duration: 2, gap: true },
      { uri: "2.m4s", duration: 2, init: "a.mp4" },
    ],
  });
  assert.equal(
    whole,
    '#EXTM3U\n#EXT-X-VERSION:8\n#EXT-X-TARGETDURATION:2\n#EXT-X-PLAYLIST-TYPE:VOD\n#EXT-X-MEDIA-SEQUENCE:0\n#EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-START:TIME-OFFSET=1.500,PRECISE=YES\n#EXT-X-MAP:URI="a.mp4"\n#EXTINF:2.000,\n0.m4s\n#EXT-X-GAP\n#EXTINF:2.000,\n1.m4s\n#EXTINF:2.000,\n2.m4s\n#EXT-X-ENDLIST\n',
  );
});
