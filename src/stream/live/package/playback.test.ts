import assert from "node:assert/strict";
import { test } from "node:test";
import { runOf, SOURCE } from "./package.testing.ts";
import { assertFollows, assertValid, readPlaylist } from "./read-playlist.testing.ts";
import { feed, fragmentAt, liveWorld, RENDITIONS, until, uris } from "./playback.testing.ts";

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
        sink.fragment({ ...fragmentAt(name, at, third), ...(name === "90p" && { bytes: Buffer.alloc(100_000) }) });
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

test("players receive the measured bandwidth if it exceeds the declared one", async (t) => {
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
  await until(() => broadcast.waiterCount === 2);
  sink.fragment(fragmentAt("source", 8, 0));
  assert.equal((await next).text, "source@8+0;");
  assert.equal(answered, 1, "the playlist waits for the second part");
  sink.fragment(fragmentAt("source", 8, 1));
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
