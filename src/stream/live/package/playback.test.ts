import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { LiveFragment, RunSink } from "../fragments.ts";
import type { LiveTimeline } from "../timeline.ts";
import { anyVideo } from "../../playback/playback.testing.ts";
import { createBroadcast } from "./broadcast.ts";
import { liveDash } from "./dash.ts";
import { assertFollows, assertValid, readPlaylist, runOf, SMALL, SOUND, SOURCE } from "./package.testing.ts";
import { positionOf, segmentsBetween } from "./queries.ts";
import { INPUT, liveVideo, liveWorld, VIDEO } from "./playback.testing.ts";

const RENDITIONS = [SOURCE, SMALL, SOUND];
/** One second of all renditions in fragments of a third; every other second begins with a key frame. */
function second(sink: RunSink, at: number, renditions = RENDITIONS): void {
  for (const third of [0, 1, 2]) for (const { name } of renditions) sink.fragment(piece(name, at, third));
}
const piece = (rendition: string, at: number, third: number): LiveFragment => ({
  rendition,
  time: at + third / 3,
  duration: 1 / 3,
  key: rendition === "audio" || (third === 0 && at % 2 === 0),
  ...(third === 2 && at % 2 === 1 && { nextKey: at + 1 }),
  bytes: Buffer.from(`${rendition}@${at}+${third};`),
});

function feed(sink: RunSink, seconds: number, { from = 0, renditions = RENDITIONS } = {}): void {
  for (const { name } of renditions) sink.init(name, Buffer.from(`init of ${name}`));
  for (let at = from; at < from + seconds; at++) second(sink, at, renditions);
}
async function until(met: () => boolean): Promise<void> {
  for (const began = Date.now(); !met(); await setTimeout(5))
    assert.ok(Date.now() - began < 60_000, "timed out after a minute");
}
const uris = (playlist: string) => playlist.split("\n").filter((line) => line !== "" && !line.startsWith("#"));

test("lists the smaller rendition first and audio separately, with and without low latency", async (t) => {
  const { broadcast, get } = await liveWorld(t);
  feed(broadcast.run(runOf(1)), 9);
  const usual = await get("manifest/video.m3u8");
  assert.deepEqual([usual.status, usual.cache], [200, "public, max-age=2"]);
  assert.deepEqual(uris(usual.text), ["source.m3u8?protocol=hls", "90p.m3u8?protocol=hls"]);
  assert.match(
    usual.text,
    /TYPE=AUDIO,GROUP-ID="audio",NAME="Original",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2",URI="audio.m3u8\?protocol=hls"/,
  );
  assert.match(
    usual.text,
    /BANDWIDTH=20000,AVERAGE-BANDWIDTH=20000,CODECS="avc1.64000d,mp4a.40.2",RESOLUTION=320x180,FRAME-RATE=25.000,AUDIO="audio"/,
  );
  assert.deepEqual(uris((await get("manifest/video.m3u8?protocol=llhls&dvrEnabled=true")).text), [
    "source.m3u8?protocol=llhls&dvrEnabled=true",
    "90p.m3u8?protocol=llhls&dvrEnabled=true",
  ]);

  const plain = await get("manifest/source.m3u8?protocol=hls");
  assert.equal(plain.cache, "public, max-age=1");
  assert.doesNotMatch(plain.text, /PART|SERVER-CONTROL|ENDLIST/);
  assert.match(plain.text, /#EXT-X-VERSION:6\n/);
  const low = await get("manifest/90p.m3u8?protocol=llhls");
  assert.equal(low.cache, "public, max-age=1");
  const read = readPlaylist(low.text);
  assertValid(read);
  assert.deepEqual([read.segments.length, read.open.length, read.hint], [4, 3, "../segments/90p/4.3.m4s"]);
  assert.deepEqual(
    read.reports.map(({ URI }) => URI),
    ["source.m3u8?protocol=llhls", "audio.m3u8?protocol=llhls"],
  );
  assert.match(
    (await get("manifest/source.m3u8?dvrEnabled=true&protocol=hls")).text,
    /#EXT-X-VERSION:8\n[^]*CAN-SKIP-UNTIL=12.000\n/,
  );

  const whole = await get("segments/source/1.m4s");
  assert.equal(whole.text, "source@2+0;source@2+1;source@2+2;source@3+0;source@3+1;source@3+2;");
  assert.deepEqual(
    [whole.cache, whole.headers.get("content-type")],
    ["public, max-age=604800, immutable", "video/mp4"],
  );
  assert.equal((await get("segments/source/1.4.m4s")).text, "source@3+1;");
  assert.equal((await get(`segments/audio/init-${runOf(1).id}.mp4`)).text, "init of audio");
  for (const path of [
    "segments/source/4.m4s",
    "segments/source/99.m4s",
    "segments/source/4.9.m4s",
    "segments/none/0.m4s",
    "segments/source/01.m4s",
    "segments/..%2fsource/0.m4s",
    "manifest/none.m3u8",
    "segments/source/init.mp4",
  ])
    assert.equal((await get(path)).status, 404, path);
});

test("clientBandwidthHint selects the rendition with the nearest measured bitrate", async (t) => {
  const { broadcast, get } = await liveWorld(t);
  const sink = broadcast.run(runOf(1));
  for (const at of [0, 1, 2, 3])
    for (const third of [0, 1, 2])
      for (const { name } of RENDITIONS)
        sink.fragment({ ...piece(name, at, third), ...(name === "90p" && { bytes: Buffer.alloc(100_000) }) });
  const all = (await get("manifest/video.m3u8")).text;
  assert.match(all, /BANDWIDTH=2410000,AVERAGE-BANDWIDTH=2410000,.*\n90p/, "higher than the estimate of 300 kbit/s");
  for (const [hint, name] of [
    ["0.2", "source"],
    ["2", "90p"],
  ])
    assert.deepEqual(uris((await get(`manifest/video.m3u8?clientBandwidthHint=${hint}`)).text), [
      `${name}.m3u8?protocol=hls`,
    ]);
});

test("responds to a blocking request when the part is available, with a response that caches may share", async (t) => {
  const { broadcast, get } = await liveWorld(t);
  const sink = broadcast.run(runOf(1));
  feed(sink, 8);
  const before = readPlaylist((await get("manifest/source.m3u8?protocol=llhls")).text);
  assert.deepEqual(
    [before.segments.length, before.open.length, before.hint],
    [4, 0, "../segments/source/4.0.m4s"],
    "a key frame follows, so the segment ends with its last part",
  );
  const waiting = get("manifest/source.m3u8?protocol=llhls&_HLS_msn=4&_HLS_part=1");
  const next = get("segments/source/4.0.m4s");
  let answered = 0;
  for (const one of [waiting, next]) void one.then(() => answered++);
  await until(() => broadcast.waiting === 2);
  sink.fragment(piece("source", 8, 0));
  assert.equal((await next).text, "source@8+0;");
  assert.equal(answered, 1, "the playlist waits for the second part");
  sink.fragment(piece("source", 8, 1));
  const { text, cache, status } = await waiting;
  assert.deepEqual([status, cache], [200, "public, max-age=12"]);
  const after = readPlaylist(text);
  assertFollows(before, after);
  assert.deepEqual([after.segments.length, after.open.length], [4, 2]);

  const past = await get("manifest/source.m3u8?protocol=llhls&_HLS_msn=2&_HLS_part=0");
  assert.deepEqual([past.status, past.cache], [200, "public, max-age=12"]);
  assert.equal(
    readPlaylist((await get("manifest/source.m3u8?protocol=llhls&_HLS_msn=3&_HLS_part=40")).text).open.length,
    2,
    "a part number beyond the end of a segment means the first part of the next segment",
  );
  for (const query of ["_HLS_msn=9", "_HLS_part=1", "_HLS_msn=x", "_HLS_msn=-1"])
    assert.equal((await get(`manifest/source.m3u8?protocol=llhls&${query}`)).status, 400, query);
});

test("completes blocking requests when the broadcast ends, without removing anything; the playlist is complete from then on", async (t) => {
  const { broadcast, get, getElsewhere } = await liveWorld(t, {
    captions: { of: async () => [{ language: "de", label: "Deutsch", generated: false }], vtt: async () => "WEBVTT\n" },
  });
  const sink = broadcast.run(runOf(1));
  feed(sink, 60);
  const before = readPlaylist((await get("manifest/source.m3u8?protocol=llhls")).text);
  const waiting = get("manifest/source.m3u8?protocol=llhls&_HLS_msn=31&_HLS_part=0");
  const part = get("segments/source/30.0.m4s");
  await until(() => broadcast.waiting === 2);
  sink.end();
  broadcast.end();
  assert.equal(broadcast.waiting, 0, "no request is still waiting");
  assert.equal((await part).status, 404);
  const { text, cache } = await waiting;
  const after = readPlaylist(text);
  assert.deepEqual([after.ended, cache], [true, "public, max-age=2"]);
  assertFollows(before, after);
  assert.ok(after.sequence > 0, "removed segments do not reappear");

  for (const ask of [get, getElsewhere]) {
    const multi = await ask("manifest/video.m3u8?protocol=llhls");
    assert.deepEqual([uris(multi.text), multi.cache], [["source.m3u8", "90p.m3u8"], "public, max-age=60"]);
    assert.match(multi.text, /TYPE=SUBTITLES,.*LANGUAGE="de",.*URI="text-de.m3u8"/);
    assert.match((await ask("manifest/text-de.m3u8")).text, /#EXTINF:60.000,\n..\/captions\/de.vtt/);
    assert.equal((await ask("manifest/text-fr.m3u8")).status, 404);
    const whole = await ask("manifest/source.m3u8");
    assert.match(whole.text, /#EXT-X-PLAYLIST-TYPE:VOD\n#EXT-X-MEDIA-SEQUENCE:0\n/);
    const read = readPlaylist(whole.text);
    assertValid(read);
    assert.deepEqual(
      [read.segments.length, read.ended, read.segments.reduce((sum, { duration }) => sum + duration, 0)],
      [30, true, 60],
    );
    assert.match((await ask("segments/source/0.m4s")).text, /^source@0\+0;/, "stored, no longer in memory");
    assert.equal((await ask("manifest/source.m3u8?protocol=llhls")).text.includes("ENDLIST"), true);
  }
});

test("replies 204 for manifests before the first broadcast, and 404 if recording is off", async (t) => {
  const waiting = liveVideo({ uid: INPUT, state: "pendingupload" });
  const recorded = await liveWorld(t, { inputShows: () => waiting });
  for (const path of ["manifest/video.m3u8", "manifest/video.mpd", "manifest/video.m3u8?protocol=llhls"]) {
    const { status, text, cache } = await recorded.get(path, INPUT);
    assert.deepEqual([status, text, cache], [204, "", "no-store"], path);
  }
  assert.equal((await recorded.get("manifest/source.m3u8", INPUT)).status, 404);
  const unrecorded = await liveWorld(t, { inputShows: () => waiting, isRecorded: false });
  for (const path of ["manifest/video.m3u8", "manifest/video.mpd"]) {
    const { status, text } = await unrecorded.get(path, INPUT);
    assert.equal(status, 404, path);
    assert.match(text, /Recording is off.*\n.*recording\.mode to "automatic"/, path);
  }
});

test("lists only the stored segments as soon as a partly unsaved broadcast has ended", async (t) => {
  const { broadcast, get, getElsewhere, storage } = await liveWorld(t);
  const sink = broadcast.run(runOf(1));
  feed(sink, 20);
  storage.segments = 4;
  assert.ok(
    readPlaylist((await get("manifest/source.m3u8")).text).segments.length > storage.segments,
    "the process of the broadcast still serves from memory",
  );
  sink.end();
  broadcast.end();
  for (const ask of [get, getElsewhere]) {
    const read = readPlaylist((await ask("manifest/source.m3u8")).text);
    assert.deepEqual(
      [read.ended, read.segments.map(({ uri }) => uri)],
      [true, [0, 1, 2, 3].map((n) => `../segments/source/${n}.m4s`)],
    );
    for (const { uri } of read.segments) assert.equal((await ask(uri.replace("../", ""))).status, 200, uri);
    assert.match((await ask("manifest/video.mpd")).text, /mediaPresentationDuration="PT8(\.\d+)?S"/);
  }
});

test("serves the whole broadcast for seeking back, and delta updates", async (t) => {
  const { broadcast, get, getElsewhere } = await liveWorld(t, { dvrMinutes: 2 });
  feed(broadcast.run(runOf(1)), 181);
  const whole = readPlaylist((await get("manifest/source.m3u8?dvrEnabled=true&protocol=llhls")).text);
  assertValid(whole);
  assert.deepEqual([whole.sequence, whole.segments.length], [30, 60]);
  const update = readPlaylist((await get("manifest/source.m3u8?dvrEnabled=true&protocol=llhls&_HLS_skip=YES")).text);
  assert.deepEqual([update.version, update.sequence, update.skipped + update.segments.length], [9, 30, 60]);
  assert.ok(update.skipped >= 50 && update.segments.length >= 6, `${update.skipped} skipped`);
  assert.deepEqual(
    update.segments.map(({ uri, at, parts }) => [uri, at, parts]),
    whole.segments.slice(update.skipped).map(({ uri, at, parts }) => [uri, at, parts]),
  );
  const other = await getElsewhere("manifest/source.m3u8?dvrEnabled=true&protocol=hls");
  assert.deepEqual(
    readPlaylist(other.text).segments.map(({ uri, duration, at }) => [uri, duration, at]),
    whole.segments.map(({ uri, duration, at }) => [uri, duration, at]),
    "another process serves the same playlist",
  );
  assert.deepEqual(
    uris((await getElsewhere("manifest/video.m3u8?protocol=llhls")).text)[0],
    "source.m3u8?protocol=hls",
    "without parts",
  );
});

test("a reconnected publisher gives one playlist with a discontinuity, and consecutive periods in DASH", async (t) => {
  const { broadcast, get } = await liveWorld(t);
  const first = broadcast.run(runOf(1));
  feed(first, 5);
  first.end();
  assert.equal(readPlaylist((await get("manifest/source.m3u8?protocol=llhls")).text).hint, undefined);
  feed(broadcast.run(runOf(2, { renditions: [SOURCE, SOUND] })), 5, { from: 2, renditions: [SOURCE, SOUND] });
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
  assert.match((await get("manifest/clip.m3u8?time=1s&duration=5s", INPUT)).text, /its uid/);
});

test("a dropped rendition remains available while part of it is listed, and its playlists continue", async (t) => {
  for (const [before, now, gone] of [
    [[SOURCE, SOUND], [SOURCE], "audio"],
    [[SOURCE, SOUND], [SOUND], "source"],
    [[SOUND], [SOURCE], "audio"],
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

test("a run without segments has no DASH period", () => {
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

test("clip starts are calculated from video; audio is cut slightly before or after", () => {
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

test("players receive the measured bandwidth of a publisher that exceeds its announced one", async (t) => {
  const { broadcast, get } = await liveWorld(t);
  const sink = broadcast.run(runOf(1, { renditions: [SOURCE] }));
  for (let at = 0; at < 9; at++)
    sink.fragment({
      rendition: "source",
      time: at,
      duration: 1,
      key: at % 2 === 0,
      bytes: Buffer.alloc(at < 2 ? 1_000_000 : 500_000),
    });
  assert.match((await get("manifest/video.m3u8")).text, /BANDWIDTH=8000000,AVERAGE-BANDWIDTH=5000000,/);
});

test("under the uid of an input, URLs of one broadcast are invalid for the next one", async (t) => {
  let shown = liveVideo();
  const { broadcast, packages, get } = await liveWorld(t, { inputShows: () => shown, prefersLowLatency: true });
  feed(broadcast.run(runOf(1)), 5);
  const [first] = uris((await get("manifest/video.m3u8", INPUT)).text);
  assert.equal(first, "source.m3u8?protocol=llhls&of=222222222222");
  const {
    segments: [segment],
    hint,
    open,
    reports,
  } = readPlaylist((await get(`manifest/${first}`, INPUT)).text);
  assert.equal(segment!.uri, "../segments/source/0.m4s?of=222222222222");
  for (const uri of [segment!.init, hint, open[0]!.uri, reports[0]!["URI"]])
    assert.match(uri!, /\?(protocol=llhls&)?of=222222222222$/);
  assert.match(
    (await get("manifest/video.mpd", INPUT)).text,
    /media="..\/segments\/\$RepresentationID\$\/\$Number\$.m4s\?of=222222222222"/,
  );
  assert.match((await get("segments/source/0.m4s?of=222222222222", INPUT)).text, /^source@0/);
  shown = liveVideo({ uid: "3".repeat(32) });
  feed(packages.open(shown.uid).run(runOf(2)), 5);
  for (const path of [`manifest/${first}`, "segments/source/0.m4s?of=222222222222"])
    assert.equal((await get(path, INPUT)).status, 404, path);
  assert.deepEqual(
    uris((await get("manifest/video.m3u8", INPUT)).text)[0],
    "source.m3u8?protocol=llhls&of=333333333333",
  );
});

test("before the first data, a player waits for the broadcast to start; requests for other videos are passed on", async (t) => {
  const { broadcast, get, playback } = await liveWorld(t);
  const waiting = [get("manifest/video.m3u8?protocol=llhls"), get("manifest/video.mpd")];
  await until(() => broadcast.waiting === 2);
  feed(broadcast.run(runOf(1)), 3);
  for (const answer of waiting) assert.equal((await answer).status, 200);
  assert.deepEqual(uris((await waiting[0]!).text), ["source.m3u8?protocol=llhls", "90p.m3u8?protocol=llhls"]);
  assert.equal(await playback.handles(anyVideo()), false);
  assert.equal(await playback.handles(liveVideo({ uid: "4".repeat(32) })), false);
  assert.equal(await playback.handles(liveVideo()), true);
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

test("counts a video segment or part by its duration; audio counts only without video", async (t) => {
  const {
    broadcast,
    playback: { length },
  } = await liveWorld(t);
  feed(broadcast.run(runOf(1)), 9);
  const seconds = (rendition: string, file: string, video = liveVideo()) =>
    length({ video, params: { rendition, file } });
  const { segments } = broadcast.timeline();
  assert.deepEqual(
    await Promise.all(segments.map(({ n }) => seconds("90p", `${n}.m4s`))),
    segments.map(({ durations }) => durations["90p"]),
  );
  assert.equal(await seconds("source", "1.4.m4s"), broadcast.recent.find("source", 1)!.parts[4]!.duration);
  assert.ok((await seconds("source", "1.4.m4s"))! > 0.1 && (await seconds("source", "1.m4s"))! > 1.9);
  for (const [rendition, file] of [
    ["audio", "1.m4s"],
    ["source", `init-${runOf(1).id}.mp4`],
    ["source", "99.m4s"],
    ["source", "1.99.m4s"],
    ["none", "1.m4s"],
    ["source", "1.mp4"],
  ] as const)
    assert.equal(await seconds(rendition, file), 0, `${rendition}/${file}`);
  assert.equal(await seconds("source", "1.m4s", anyVideo()), undefined);

  const alone = await liveWorld(t);
  const sink = alone.broadcast.run(runOf(1, { renditions: [SOUND] }));
  for (let at = 0; at < 9; at++) second(sink, at, [SOUND]);
  assert.ok(
    (await alone.playback.length({ video: liveVideo(), params: { rendition: "audio", file: "1.m4s" } }))! > 1.9,
  );
});
