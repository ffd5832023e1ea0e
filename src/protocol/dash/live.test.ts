import assert from "node:assert/strict";
import { test } from "node:test";
import { type LiveMediaSet, writeLiveMpd } from "./live.ts";

const AT = Date.UTC(2026, 10, 23, 12);
const video = (segments: LiveMediaSet["segments"], over: Partial<LiveMediaSet> = {}): LiveMediaSet => ({
  kind: "video",
  id: 0,
  timescale: 1000,
  offset: 0,
  initialization: "$RepresentationID$/init.mp4",
  media: "$RepresentationID$/$Number$.m4s",
  firstNumber: 5,
  segments,
  representations: [
    {
      id: "source",
      codecs: "avc1.64000d",
      bandwidth: 900_000,
      width: 320,
      height: 180,
      frameRate: { num: 25, den: 1 },
    },
  ],
  ...over,
});

test("a growing presentation is written exactly as expected", () => {
  const segments = [
    { time: 4000, duration: 2000 },
    { time: 6000, duration: 2000 },
    { time: 8000, duration: 1500 },
    { time: 9600, duration: 1500 },
  ];
  assert.equal(
    writeLiveMpd({
      minBuffer: 2,
      dynamic: {
        availabilityStartTime: AT,
        now: AT + 12_000,
        minimumUpdatePeriod: 2,
        timeShiftBufferDepth: 30,
        suggestedPresentationDelay: 6,
      },
      periods: [{ id: "a", start: 1.5, sets: [video(segments)] }],
    }),
    `<?xml version="1.0" encoding="UTF-8"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-live:2011" type="dynamic" availabilityStartTime="2026-11-23T12:00:00.000Z" publishTime="2026-11-23T12:00:12.000Z" minimumUpdatePeriod="PT2S" timeShiftBufferDepth="PT30S" suggestedPresentationDelay="PT6S" minBufferTime="PT2S">
  <Period id="a" start="PT1.5S">
    <AdaptationSet id="0" contentType="video" mimeType="video/mp4" segmentAlignment="true" startWithSAP="1">
      <Role schemeIdUri="urn:mpeg:dash:role:2011" value="main"/>
      <SegmentTemplate timescale="1000" presentationTimeOffset="0" initialization="$RepresentationID$/init.mp4" media="$RepresentationID$/$Number$.m4s" startNumber="5">
        <SegmentTimeline>
          <S t="4000" d="2000" r="1"/>
          <S d="1500"/>
          <S t="9600" d="1500"/>
        </SegmentTimeline>
      </SegmentTemplate>
      <Representation id="source" codecs="avc1.64000d" bandwidth="900000" width="320" height="180" frameRate="25" sar="1:1"/>
    </AdaptationSet>
  </Period>
  <UTCTiming schemeIdUri="urn:mpeg:dash:utc:direct:2014" value="2026-11-23T12:00:12.000Z"/>
</MPD>
`,
  );
});

test("an ended presentation states its duration and has no live attributes", () => {
  const text = writeLiveMpd({
    minBuffer: 2,
    duration: 3.5,
    periods: [
      { id: "a", start: 0, duration: 2, sets: [video([{ time: 0, duration: 2000 }])] },
      {
        id: "b",
        start: 2,
        duration: 1.5,
        sets: [video([{ time: 70, duration: 1500 }], { offset: 70, firstNumber: 6 })],
      },
    ],
  });
  assert.match(text, /type="static" mediaPresentationDuration="PT3.5S" minBufferTime/);
  assert.match(
    text,
    /<Period id="b" start="PT2S" duration="PT1.5S">[^]*presentationTimeOffset="70"[^]*startNumber="6"/,
  );
  assert.doesNotMatch(text, /availability|UTCTiming|publish/);
});
