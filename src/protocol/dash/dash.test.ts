import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { type AdaptationSet, type MediaSet, writeMpd } from "./mpd.ts";

const video: MediaSet = {
  kind: "video",
  role: "main",
  timeline: { timescale: 30_000, segmentDuration: 120_120, total: 300_300 },
  initialization: "../segments/$RepresentationID$/init.mp4",
  media: "../segments/$RepresentationID$/$Number$.m4s",
  representations: [
    {
      id: "360p",
      codecs: "avc1.4d401e",
      bandwidth: 800_000,
      width: 640,
      height: 360,
      frameRate: { num: 30_000, den: 1001 },
    },
  ],
};
const audio: MediaSet = {
  ...video,
  kind: "audio",
  label: "Original",
  representations: [{ id: "audio", codecs: "mp4a.40.2", bandwidth: 128_000, channels: 2, sampleRate: 48_000 }],
};
const mpd = (...sets: AdaptationSet[]) => writeMpd({ duration: 10.01, minBuffer: 2, sets });

test("a presentation is written exactly as expected", () => {
  assert.equal(
    mpd(video, audio, { kind: "text", id: "text-de", language: "de", label: "Deutsch", uri: "../captions/de.vtt" }),
    `<?xml version="1.0" encoding="UTF-8"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-live:2011" type="static" mediaPresentationDuration="PT10.01S" minBufferTime="PT2S">
  <Period id="0" start="PT0S">
    <AdaptationSet id="0" contentType="video" mimeType="video/mp4" maxWidth="640" maxHeight="360" segmentAlignment="true" startWithSAP="1">
      <Role schemeIdUri="urn:mpeg:dash:role:2011" value="main"/>
      <SegmentTemplate timescale="30000" initialization="../segments/$RepresentationID$/init.mp4" media="../segments/$RepresentationID$/$Number$.m4s" startNumber="0">
        <SegmentTimeline>
          <S t="0" d="120120" r="1"/>
          <S d="60060"/>
        </SegmentTimeline>
      </SegmentTemplate>
      <Representation id="360p" codecs="avc1.4d401e" bandwidth="800000" width="640" height="360" frameRate="30000/1001" sar="1:1"/>
    </AdaptationSet>
    <AdaptationSet id="1" contentType="audio" mimeType="audio/mp4" segmentAlignment="true" startWithSAP="1">
      <Label>Original</Label>
      <Role schemeIdUri="urn:mpeg:dash:role:2011" value="main"/>
      <SegmentTemplate timescale="30000" initialization="../segments/$RepresentationID$/init.mp4" media="../segments/$RepresentationID$/$Number$.m4s" startNumber="0">
        <SegmentTimeline>
          <S t="0" d="120120" r="1"/>
          <S d="60060"/>
        </SegmentTimeline>
      </SegmentTemplate>
      <Representation id="audio" codecs="mp4a.40.2" bandwidth="128000" audioSamplingRate="48000">
        <AudioChannelConfiguration schemeIdUri="urn:mpeg:dash:23003:3:audio_channel_configuration:2011" value="2"/>
      </Representation>
    </AdaptationSet>
    <AdaptationSet id="2" contentType="text" lang="de" mimeType="text/vtt">
      <Label>Deutsch</Label>
      <Role schemeIdUri="urn:mpeg:dash:role:2011" value="subtitle"/>
      <Representation id="text-de" bandwidth="256">
        <BaseURL>../captions/de.vtt</BaseURL>
      </Representation>
    </AdaptationSet>
  </Period>
</MPD>
`,
  );
});

test("a timeline covers the whole presentation, however long it is", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 3_000_000 }), (segmentDuration, total) => {
      const text = mpd({ ...video, timeline: { timescale: 1, segmentDuration, total } });
      const entries = [...text.matchAll(/<S(?: t="(\d+)")? d="(\d+)"(?: r="(\d+)")?\/>/g)];
      assert.equal(entries[0]?.[1], "0");
      const lengths = entries.map(([, , d, r]) => ({ d: Number(d), count: Number(r ?? 0) + 1 }));
      assert.equal(
        lengths.reduce((sum, { d, count }) => sum + d * count, 0),
        total,
      );
      assert.equal(
        lengths.reduce((sum, { count }) => sum + count, 0),
        Math.ceil(total / segmentDuration),
      );
      assert.ok(lengths.every(({ d }) => d > 0 && d <= segmentDuration));
    }),
  );
});

test("a label with any text leaves the XML well-formed", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (label) => {
      const text = mpd(
        { ...audio, label, language: label },
        { kind: "text", id: "t", language: label, label, uri: label },
      );
      assert.doesNotMatch(text, /(?!\n)\p{Cc}|[\ufffe\uffff]/u);
      assert.equal(text.isWellFormed(), true);
      const open: string[] = [];
      const rest = text
        .slice(text.indexOf("?>") + 2)
        .replace(
          /<(\/?)([A-Za-z]+)((?: [A-Za-z:]+="[^"<>&]*(?:&#\d+;[^"<>&]*)*")*)(\/?)>/g,
          (_all, close: string, name: string, _attributes: string, empty: string) => {
            if (close) assert.equal(open.pop(), name);
            else if (!empty) open.push(name);
            return "";
          },
        );
      assert.deepEqual(open, []);
      assert.doesNotMatch(rest, /[<>]|&(?!#\d+;)/);
    }),
  );
});
