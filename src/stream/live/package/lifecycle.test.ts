import assert from "node:assert/strict";
import { test } from "node:test";
import { anyVideo } from "../../playback/playback.testing.ts";
import { runOf } from "./package.testing.ts";
import { assertFollows, assertValid, readPlaylist } from "./read-playlist.testing.ts";
import { feed, INPUT, liveVideo, liveWorld, until, uris } from "./playback.testing.ts";

test("a player waits for a broadcast without data to start, and requests for other videos are passed on", async (t) => {
  const { broadcast, get, playback } = await liveWorld(t);
  const waiting = [get("manifest/video.m3u8?protocol=llhls"), get("manifest/video.mpd")];
  await until(() => broadcast.waiterCount === 2);
  feed(broadcast.run(runOf(1)), 3);
  for (const answer of waiting) assert.equal((await answer).status, 200);
  assert.deepEqual(uris((await waiting[0]!).text), ["source.m3u8?protocol=llhls", "90p.m3u8?protocol=llhls"]);
  assert.equal(await playback.handles(anyVideo()), false);
  assert.equal(await playback.handles(liveVideo({ uid: "4".repeat(32) })), false);
  assert.equal(await playback.handles(liveVideo()), true);
});

test("responds to manifest requests with 204 before the first broadcast, and with 404 if recording is off", async (t) => {
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

test("completes blocking requests when the broadcast ends, and keeps the playlist, which is complete from then on", async (t) => {
  const { broadcast, get, getElsewhere } = await liveWorld(t, {
    captions: { of: async () => [{ language: "de", label: "Deutsch", generated: false }], vtt: async () => "WEBVTT\n" },
  });
  const sink = broadcast.run(runOf(1));
  feed(sink, 60);
  const before = readPlaylist((await get("manifest/source.m3u8?protocol=llhls")).text);
  const waiting = get("manifest/source.m3u8?protocol=llhls&_HLS_msn=31&_HLS_part=0");
  const part = get("segments/source/30.0.m4s");
  await until(() => broadcast.waiterCount === 2);
  sink.end();
  broadcast.end();
  assert.equal(broadcast.waiterCount, 0, "no request is still waiting");
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

test("lists only the stored segments as soon as an incompletely stored broadcast has ended", async (t) => {
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
