import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { needsFfmpeg } from "../../../test/support/media.ts";
import {
  anyVideo,
  emptyObjects,
  ntscModel,
  serveDelivery,
  serveVideo,
  storedSegments,
  UID,
} from "./playback.testing.ts";
import { segmentKey } from "../encode/port.ts";
import { createPlayback } from "./playback.ts";
import type { PlaybackTracks } from "./port.ts";

const GERMAN = "WEBVTT\n\n00:00:00.000 --> 00:00:02.000\nGuten Tag\n";
const captions: PlaybackTracks["captions"] = {
  of: async () => [{ language: "de", label: "Deutsch", generated: false }],
  vtt: async (_uid, language) => (language === "de" ? GERMAN : undefined),
};
const source: PlaybackTracks["source"] = {
  of: async () => ({
    video: {
      segments: [
        { start: 0, duration: 7.5 },
        { start: 7.5, duration: 2.51 },
      ],
      codecs: "avc1.64000c",
      peakBandwidth: 900_000,
      averageBandwidth: 700_000,
      width: 320,
      height: 180,
      fps: 29.97,
    },
    audio: {
      segments: [{ start: 0, duration: 10.01 }],
      codecs: "mp4a.40.2",
      peakBandwidth: 70_000,
      averageBandwidth: 64_000,
      channels: 1,
    },
  }),
  segment: async () => undefined,
};

const manifests = async (
  t: Parameters<typeof serveDelivery>[0],
  { tracks = {}, video = {}, model = {} }: Parameters<typeof serveVideo>[1] = {},
) => {
  const objects = await emptyObjects(t);
  const origin = await serveDelivery(t, {
    videos: [anyVideo({ model: ntscModel(model), ...video })],
    routes: createPlayback({ segments: storedSegments(objects), ...tracks }),
  });
  return async (path: string) => {
    const response = await fetch(`${origin}/${UID}/${path}`);
    return { status: response.status, text: await response.text(), headers: response.headers };
  };
};
const uris = (playlist: string) => playlist.split("\n").filter((line) => line !== "" && !line.startsWith("#"));

test("a manifest is complete before anything is encoded, and its URLs are relative", async (t) => {
  const get = await manifests(t, { video: { state: "inprogress", readyToStream: false, pctComplete: 0 } });
  const multi = await get("manifest/video.m3u8");
  assert.equal(multi.status, 200);
  assert.equal(multi.headers.get("content-type"), "application/vnd.apple.mpegurl");
  assert.equal(multi.headers.get("access-control-allow-origin"), "*");
  assert.equal(multi.headers.get("cache-control"), "public, max-age=2");
  assert.deepEqual(uris(multi.text), ["180p.m3u8", "90p.m3u8"], "the rendition that is encoded first is listed first");
  assert.match(
    multi.text,
    /CODECS="avc1\.64[0-9a-f]{4},mp4a\.40\.2",RESOLUTION=320x180,FRAME-RATE=29\.970,AUDIO="audio"/,
  );
  const media = await get("manifest/180p.m3u8");
  assert.deepEqual(uris(media.text), ["../segments/180p/0.m4s", "../segments/180p/1.m4s", "../segments/180p/2.m4s"]);
  assert.deepEqual(
    [...media.text.matchAll(/EXTINF:([\d.]+)/g)].map(([, s]) => s),
    ["4.004", "4.004", "2.002"],
  );
  const audio = await get("manifest/audio.m3u8");
  const received = [...audio.text.matchAll(/EXTINF:([\d.]+)/g)].reduce((sum, [, s]) => sum + Number(s), 0);
  assert.ok(received >= 10.01 && received < 10.01 + 1024 / 48_000, `${received}`);
  // Up to the end of the audio, which consists of whole AAC frames.
  assert.match((await get("manifest/video.mpd")).text, /mediaPresentationDuration="PT10.027667S"/);
});

test("captions, added audio and the source are each listed", async (t) => {
  const audio = { of: async () => [{ uid: "b".repeat(32), label: "Original", default: true }] };
  const get = await manifests(t, { tracks: { captions, audio, source } });
  const { text } = await get("manifest/video.m3u8");
  assert.deepEqual(uris(text), ["180p.m3u8", "90p.m3u8", "source.m3u8"]);
  assert.match(
    text,
    /TYPE=AUDIO,GROUP-ID="audio",NAME="Original 2",DEFAULT=NO,AUTOSELECT=NO,CHANNELS="2",URI="audio.m3u8"/,
  );
  assert.match(
    text,
    /TYPE=AUDIO,GROUP-ID="audio",NAME="Original",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2",URI="audio-b{32}.m3u8"/,
  );
  assert.match(text, /TYPE=AUDIO,GROUP-ID="source",NAME="Original 2",.*CHANNELS="1",URI="source-audio.m3u8"/);
  assert.match(text, /TYPE=SUBTITLES,GROUP-ID="text",NAME="Deutsch",LANGUAGE="de",.*URI="text-de.m3u8"/);
  assert.match(
    text,
    /BANDWIDTH=1040800,AVERAGE-BANDWIDTH=828000,CODECS="avc1.64000c,mp4a.40.2",.*AUDIO="source",SUBTITLES="text"/,
  );
  assert.deepEqual(uris((await get("manifest/source.m3u8")).text), [
    "../segments/source/0.m4s",
    "../segments/source/1.m4s",
  ]);
  assert.deepEqual(uris((await get("manifest/source-audio.m3u8")).text), ["../segments/source-audio/0.m4s"]);
  assert.deepEqual(uris((await get("manifest/text-de.m3u8")).text), ["../captions/de.vtt"]);
  const vtt = await get("captions/de.vtt");
  assert.equal(vtt.text, GERMAN);
  assert.equal(vtt.headers.get("content-type"), "text/vtt; charset=utf-8");
  const mpd = (await get("manifest/video.mpd")).text;
  assert.match(mpd, /contentType="audio"[^>]*>\s*<Label>Original<\/Label>\s*<Role [^>]*value="main"/);
  // The last segment lasts 2.51 s. The AdaptationSet has the template of the ladder, whose boundaries differ.
  assert.match(mpd, /contentType="video"[^>]*segmentAlignment="false"/);
  assert.match(
    mpd,
    /<Representation id="source" codecs="avc1\.64000c" bandwidth="900000" width="320" height="180" sar="1:1">\s*<SegmentTemplate timescale="1000000" [^>]*startNumber="0">\s*<SegmentTimeline>\s*<S t="0" d="7500000"\/>\s*<S d="2510000"\/>/,
  );
  for (const path of [
    "captions/fr.vtt",
    "manifest/text-fr.m3u8",
    "manifest/720p.m3u8",
    "segments/180p/9.m4s",
    "segments/720p/0.m4s",
    "segments/180p/00.m4s",
    "segments/180p/-1.m4s",
    "segments/..%2f..%2fx/0.m4s",
  ])
    assert.equal((await get(path)).status, 404, path);
});

test("renditions that need encoding follow stored ones, so the source is first while the ladder is encoded", async (t) => {
  const get = await manifests(t, { tracks: { source }, video: { state: "inprogress" } });
  assert.deepEqual(uris((await get("manifest/video.m3u8")).text), ["source.m3u8", "180p.m3u8", "90p.m3u8"]);
});

test("lists the source among the H.264 renditions by bandwidth", async (t) => {
  const ladder = ntscModel().ladder;
  const av1 = { ...ladder[1]!, name: "180p-av1", codec: "av1" as const };
  const rates = (measured: Record<string, number>) => ({
    of: async () =>
      new Map(Object.entries(measured).map(([rendition, peak]) => [rendition, { peak, average: peak - 1 }])),
  });
  const order = async (measured: Record<string, number>) => {
    const objects = await emptyObjects(t);
    const video = anyVideo({
      model: ntscModel({ ladder: [...ladder, { ...ladder[1]!, name: "480p", width: 854, height: 480 }, av1] }),
    });
    const origin = await serveDelivery(t, {
      videos: [video],
      routes: createPlayback({ segments: storedSegments(objects), source, rates: rates(measured) }),
    });
    return uris(await (await fetch(`${origin}/${UID}/manifest/video.m3u8`)).text());
  };
  // 900 kbit/s of video and 70 kbit/s of audio.
  assert.deepEqual(await order({ "90p": 100_000, "180p": 300_000, "480p": 700_000, audio: 70_000 }), [
    "180p.m3u8",
    "90p.m3u8",
    "480p.m3u8",
    "source.m3u8",
    "180p-av1.m3u8",
  ]);
  assert.deepEqual(await order({ "90p": 100_000, "180p": 300_000, "480p": 950_000, audio: 70_000 }), [
    "180p.m3u8",
    "90p.m3u8",
    "source.m3u8",
    "480p.m3u8",
    "180p-av1.m3u8",
  ]);
});

test("clientBandwidthHint selects only the nearest rung; an invalid hint leaves all rungs", async (t) => {
  const get = await manifests(t);
  const offered = async (hint: string) => uris((await get(`manifest/video.m3u8?clientBandwidthHint=${hint}`)).text);
  assert.deepEqual(await offered("0.1"), ["90p.m3u8"]);
  assert.deepEqual(await offered("1.8"), ["180p.m3u8"]);
  for (const nothing of ["", "0", "-1", "abc", "NaN"]) assert.equal((await offered(nothing)).length, 2, nothing);
  assert.equal((await get("manifest/video.mpd?clientBandwidthHint=0.1")).text.match(/<Representation /g)?.length, 2);
});

test("plays audio without video, and video without audio", async (t) => {
  const received = await manifests(t, {
    model: {
      video: undefined,
      ladder: [],
      segments: { fps: { num: 25, den: 1 }, framesPerSegment: 100, frames: 250, count: 3 },
    },
  });
  const { text } = await received("manifest/video.m3u8");
  assert.deepEqual(uris(text), ["audio.m3u8"]);
  assert.match(text, /CODECS="mp4a.40.2"/);
  assert.doesNotMatch((await received("manifest/video.mpd")).text, /contentType="video"/);
  const seen = await manifests(t, { model: { audio: undefined } });
  assert.doesNotMatch((await seen("manifest/video.m3u8")).text, /AUDIO|mp4a/);
  assert.equal((await seen("manifest/audio.m3u8")).status, 404);
});

test("a video without a media model returns a retryable 404, and a failed one returns 424", async (t) => {
  for (const state of ["pendingupload", "downloading", "queued"] as const) {
    const get = await manifests(t, { video: { state, model: null } });
    for (const path of ["manifest/video.m3u8", "manifest/video.mpd", "segments/180p/0.m4s"]) {
      const { status, text, headers } = await get(path);
      assert.equal(status, 404);
      assert.match(text, new RegExp(`is not playable yet: it is ${state}`));
      assert.equal(headers.get("retry-after"), "2");
      assert.equal(headers.get("cache-control"), "no-store");
    }
  }
  const get = await manifests(t, {
    video: { state: "error", model: null, errorReason: { code: "ERR_NON_VIDEO", text: "" } },
    tracks: { captions },
  });
  for (const path of [
    "manifest/video.m3u8",
    "manifest/video.mpd",
    "manifest/180p.m3u8",
    "segments/180p/0.m4s",
    "captions/de.vtt",
  ])
    assert.equal((await get(path)).status, 424, path);
});

test("repeatedly requested segments are served from memory, except those of a deleted added track", async (t) => {
  const objects = await emptyObjects(t);
  const added = `audio-${"b".repeat(32)}`;
  for (const rendition of ["180p", added]) await objects.put(segmentKey(UID, rendition, 0), Buffer.from(rendition));
  const requested: string[] = [];
  const stored = storedSegments(objects);
  const segments: typeof stored = {
    ...stored,
    follow: (video, rendition, segment) => (requested.push(rendition), stored.follow(video, rendition, segment)),
  };
  const origin = await serveDelivery(t, {
    videos: [anyVideo({ model: ntscModel() })],
    routes: createPlayback({ segments }),
  });
  const status = async (rendition: string) => {
    const response = await fetch(`${origin}/${UID}/segments/${rendition}/0.m4s`);
    await response.arrayBuffer();
    return response.status;
  };
  for (let time = 0; time < 4; time++)
    for (const rendition of ["180p", added]) assert.equal(await status(rendition), 200);
  assert.equal(requested.filter((rendition) => rendition === "180p").length, 2);
  await objects.delete([segmentKey(UID, added, 0)]);
  assert.equal(await status(added), 404);
});

test("ffmpeg and ffprobe read HLS and DASH up to the last frame without warnings", needsFfmpeg, async (t) => {
  const { origin } = await serveVideo(t);
  const run = async (program: string, args: string[]) => {
    const { stdout, stderr } = await promisify(execFile)(program, ["-loglevel", "warning", ...args], {
      timeout: 60_000,
    });
    assert.equal(stderr, "", `${program} ${args.join(" ")}`);
    return stdout;
  };
  for (const manifest of ["video.m3u8", "video.mpd"]) {
    const url = `${origin}/${UID}/manifest/${manifest}`;
    const { streams } = JSON.parse(
      await run("ffprobe", ["-show_entries", "stream=codec_name,width", "-of", "json", url]),
    ) as { streams: { codec_name: string; width?: number }[] };
    assert.deepEqual(
      streams
        .filter(({ codec_name: name }) => name === "h264")
        .map(({ width }) => width)
        .sort(),
      [160, 320],
      manifest,
    );
    assert.ok(
      streams.some(({ codec_name: name }) => name === "aac"),
      manifest,
    );
    const lines = (
      await run("ffmpeg", ["-nostdin", "-i", url, "-map", "0:v:0", "-map", "0:a:0", "-f", "framecrc", "-"])
    ).split("\n");
    assert.equal(lines.filter((line) => line.startsWith("0,")).length, 300, manifest);
  }
});
