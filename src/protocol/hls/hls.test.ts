import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { writeMediaPlaylist } from "./media.ts";
import { writeMultivariant } from "./multivariant.ts";

/** Parses attribute lists independently of the writer (RFC 8216 4.2). */
function attributesOf(line: string): Record<string, string> {
  const found: Record<string, string> = {};
  const rest = line
    .slice(line.indexOf(":") + 1)
    .replace(/([A-Z0-9-]+)=("[^"\r\n]*"|[^",\s]+)(,|$)/g, (_all, name: string, value: string) => {
      assert.equal(name in found, false, `${name} occurs twice`);
      found[name] = value.startsWith('"') ? value.slice(1, -1) : value;
      return "";
    });
  assert.equal(rest, "", `not an attribute list: ${line}`);
  return found;
}

test("a multivariant playlist is written exactly as expected", () => {
  const text = writeMultivariant({
    renditions: [
      {
        type: "AUDIO",
        group: "audio",
        name: "Original",
        uri: "audio.m3u8",
        default: true,
        autoselect: true,
        channels: 2,
      },
      {
        type: "SUBTITLES",
        group: "text",
        name: "Deutsch",
        language: "de",
        uri: "text-de.m3u8",
        default: false,
        autoselect: true,
      },
    ],
    variants: [
      {
        uri: "360p.m3u8",
        bandwidth: 1_328_000,
        averageBandwidth: 928_000.4,
        codecs: ["avc1.4d401e", "mp4a.40.2"],
        resolution: { width: 640, height: 360 },
        frameRate: 30_000 / 1001,
        audio: "audio",
        subtitles: "text",
      },
    ],
  });
  assert.equal(
    text,
    `#EXTM3U
#EXT-X-VERSION:6
#EXT-X-INDEPENDENT-SEGMENTS
#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio",NAME="Original",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2",URI="audio.m3u8"
#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="text",NAME="Deutsch",LANGUAGE="de",DEFAULT=NO,AUTOSELECT=YES,FORCED=NO,URI="text-de.m3u8"
#EXT-X-STREAM-INF:BANDWIDTH=1328000,AVERAGE-BANDWIDTH=928001,CODECS="avc1.4d401e,mp4a.40.2",RESOLUTION=640x360,FRAME-RATE=29.970,AUDIO="audio",SUBTITLES="text",CLOSED-CAPTIONS=NONE
360p.m3u8
`,
  );
});

test("a media playlist is written exactly as expected", () => {
  const text = writeMediaPlaylist({
    init: "../segments/360p/init.mp4",
    segments: [
      { uri: "0.m4s", duration: 4.004 },
      { uri: "1.m4s", duration: 1.301_3 },
      { uri: "2.m4s", duration: 1 / 3 },
    ],
  });
  assert.equal(
    text,
    `#EXTM3U
#EXT-X-VERSION:6
#EXT-X-TARGETDURATION:5
#EXT-X-MEDIA-SEQUENCE:0
#EXT-X-PLAYLIST-TYPE:VOD
#EXT-X-INDEPENDENT-SEGMENTS
#EXT-X-MAP:URI="../segments/360p/init.mp4"
#EXTINF:4.004,
0.m4s
#EXTINF:1.3013,
1.m4s
#EXTINF:0.333333,
2.m4s
#EXT-X-ENDLIST
`,
  );
});

test("a label with any text keeps the playlist's lines and attributes intact", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "binary" }), { minLength: 1, maxLength: 4 }), (names) => {
      const renditions = names.map(
        (name) =>
          ({
            type: "SUBTITLES",
            group: "text",
            name,
            language: name,
            uri: "x.m3u8",
            default: false,
            autoselect: false,
          }) as const,
      );
      const lines = writeMultivariant({
        renditions,
        variants: [{ uri: "v.m3u8", bandwidth: 1, codecs: ["avc1.64001f"] }],
      }).split("\n");
      assert.equal(lines.length, 3 + names.length + 2 + 1);
      for (const line of lines.slice(3, 3 + names.length)) assert.equal(attributesOf(line)["URI"], "x.m3u8");
    }),
  );
});

test("a media playlist covers the whole duration, and no segment exceeds the target duration", () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0.02, max: 20, noNaN: true }), { minLength: 1, maxLength: 50 }),
      fc.constantFrom(1, 200),
      (durations, times) => {
        const all = Array.from({ length: times }, () => durations).flat();
        const text = writeMediaPlaylist({ segments: all.map((duration, n) => ({ uri: `${n}.m4s`, duration })) });
        const said = [...text.matchAll(/^#EXTINF:([\d.]+),$/gm)].map(([, value]) => Number(value));
        const target = Number(/TARGETDURATION:(\d+)$/m.exec(text)?.[1]);
        assert.equal(said.length, all.length);
        assert.ok(said.every((one) => one <= target + 1e-5));
        const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);
        assert.ok(Math.abs(sum(said) - sum(all)) < 2e-6);
      },
    ),
    { numRuns: 50 },
  );
});
