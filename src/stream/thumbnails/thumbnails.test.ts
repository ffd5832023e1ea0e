import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type ClipRecipe, mediaClips, needsFfmpeg, runFfmpeg } from "../../../test/support/media.ts";
import type { ObjectStore } from "../../store/index.ts";
import { readTime } from "./image-request.ts";
import { decodeImage, HALVES, kindOfError, openThumbnails } from "./thumbnails.testing.ts";

async function keysByPrefix(objects: ObjectStore, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of objects.list(prefix)) keys.push(key);
  return keys;
}

describe("thumbnails", needsFfmpeg, () => {
  test("default to the video's timestamp and to its native size, up to 640 pixels", async (t) => {
    const { get, video } = await openThumbnails(t, HALVES);
    const { bytes, type, cache } = await get("thumbnail.jpg");
    const first = await decodeImage(t, bytes);
    assert.deepEqual(
      [type, cache, first.codec, first.size, first.colour(0.2, 0.5), first.colour(0.8, 0.5)],
      ["image/jpeg", 300, "mjpeg", "320x180", "red", "black"],
    );
    const later = await decodeImage(t, (await get("thumbnail.jpg", { ...video, thumbnailTimestampPct: 0.75 })).bytes);
    assert.equal(later.colour(0.2, 0.5), "blue");
    const large = await openThumbnails(t, mediaClips.hd);
    assert.equal((await decodeImage(t, (await large.get("thumbnail.jpg")).bytes)).size, "640x360");
  });

  test("accept a time in every form, and show the last frame for a time beyond the end", async (t) => {
    const { get } = await openThumbnails(t, HALVES);
    for (const [time, colour] of [
      ["0s", "red"],
      ["1.9s", "red"],
      ["2s", "blue"],
      ["3", "blue"],
      ["0m3s", "blue"],
      ["4s", "blue"],
      ["1h", "blue"],
    ] as const) {
      const { bytes, cache } = await get(`thumbnail.jpg?time=${time}`);
      assert.deepEqual([time, (await decodeImage(t, bytes)).colour(0.2, 0.5), cache], [time, colour, 86_400]);
    }
    assert.deepEqual(["8m", "5m2s", "1s", "1h12m27s", "90", "1.5s", "", "x", "-1", "1s5m", "1e3"].map(readTime), [
      480,
      302,
      1,
      4347,
      90,
      1.5,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  test("compute a missing dimension from the other, and apply each `fit` if both are given", async (t) => {
    const { get } = await openThumbnails(t, HALVES);
    const look = async (query: string) => {
      const { size, colour } = await decodeImage(t, (await get(`thumbnail.jpg?time=1s&${query}`)).bytes);
      return `${size} ${colour(0.1, 0.5)} ${colour(0.9, 0.5)} ${colour(0.1, 0.05)}`;
    };
    assert.equal(await look("height=90"), "160x90 red black red");
    assert.equal(await look("width=90"), "90x51 red black red");
    assert.equal(await look("width=200&height=200"), "200x200 red black red");
    assert.equal(await look("width=200&height=200&fit=clip"), "200x113 red black red");
    assert.equal(await look("width=200&height=200&fit=scale"), "200x200 red black red");
    assert.equal(await look("width=200&height=200&fit=fill"), "200x200 red black black");
  });

  test("are rotated like the video", async (t) => {
    const { get } = await openThumbnails(t, { ...HALVES, rotate: 90 });
    const { size, colour } = await decodeImage(t, (await get("thumbnail.jpg")).bytes);
    assert.deepEqual([size, colour(0.5, 0.2), colour(0.5, 0.8)], ["180x320", "red", "black"]);
  });

  test("include the watermark, and support unusual pixel formats", async (t) => {
    const { get, objects, video } = await openThumbnails(t, HALVES);
    const png = await runFfmpeg([
      "-f",
      "lavfi",
      "-i",
      "color=white:s=50x50",
      "-frames:v",
      "1",
      "-c:v",
      "png",
      "-f",
      "image2pipe",
      "pipe:1",
    ]);
    const key = "stream/mark/watermark.png";
    await objects.put(key, png);
    const model = {
      ...video.model!,
      watermark: { key, width: 50, height: 50, opacity: 1, padding: 0.05, scale: 0.3, position: "upperRight" as const },
    };
    const { colour } = await decodeImage(t, (await get("thumbnail.jpg?time=1s&height=178", { ...video, model })).bytes);
    assert.deepEqual([colour(0.88, 0.15), colour(0.2, 0.5)], ["white", "red"]);
    const x265 = [
      "-c:v",
      "libx265",
      "-preset",
      "ultrafast",
      "-pix_fmt",
      "yuv420p10le",
      "-x265-params",
      "log-level=none:transfer=smpte2084:colorprim=bt2020:colormatrix=bt2020nc",
      "-color_trc",
      "smpte2084",
    ];
    const odd: ClipRecipe[] = [
      { seconds: 1, video: x265, audio: false },
      {
        seconds: 1,
        filter: "scale=321:241,setsar=1,format=yuv444p",
        video: ["-c:v", "libx264", "-preset", "ultrafast"],
      },
      mediaClips.transportStream,
    ];
    for (const recipe of odd)
      assert.ok((await (await openThumbnails(t, recipe)).get("thumbnail.jpg?time=0.5s")).bytes.length > 500);
  });

  test("can be animated", async (t) => {
    const { get } = await openThumbnails(t, HALVES);
    const { bytes, type } = await get("thumbnail.gif?time=1s&height=90");
    const usual = await decodeImage(t, bytes);
    // Only three of the five seconds exist.
    assert.deepEqual(
      [type, usual.codec, usual.size, usual.frames, usual.colour(0.2, 0.5)],
      ["image/gif", "gif", "160x90", 24, "red"],
    );
    assert.equal(
      (await decodeImage(t, (await get("thumbnail.gif?time=1s&height=90&duration=2s&fps=5")).bytes)).frames,
      10,
    );
  });

  test("reject invalid parameters before anything is started", async (t) => {
    const { get, video, runs } = await openThumbnails(t, HALVES);
    const before = runs();
    for (const query of ["time=abc", "width=0", "height=99999", "width=1.5", "fit=cover", "height=-1"])
      assert.equal(await kindOfError(get(`thumbnail.jpg?${query}`)), "badParameter 400", query);
    for (const query of ["duration=1h", "fps=1000", "fps=0", "fps=x", "height=2000"])
      assert.equal(await kindOfError(get(`thumbnail.gif?${query}`)), "badParameter 400", query);
    assert.equal(await kindOfError(get("storyboard-1.jpg")), "videoNotFound 404");
    assert.equal(await kindOfError(get("storyboard-x.jpg")), "videoNotFound 404");
    const { video: _, ...sound } = video.model!;
    for (const path of ["thumbnail.jpg", "thumbnail.gif", "storyboard.vtt"]) {
      if (path !== "thumbnail.jpg")
        assert.equal(await kindOfError(get(path, { ...video, model: { ...sound, ladder: [] } })), "noPictures 404");
      assert.equal(await kindOfError(get(path, { ...video, model: null, state: "queued" })), "notReady 409");
    }
    assert.equal(runs(), before);
    assert.equal(
      await kindOfError(
        get("thumbnail.jpg", {
          ...video,
          model: { ...video.model!, source: { ...video.model!.source, key: "stream/none/source" } },
        }),
      ),
      "imageFailed 424",
    );
  });

  test("show a waveform or the embedded cover for an audio-only video", async (t) => {
    // The audio starts with silence, so the left part of the waveform is a line.
    const quietThenLoud = ["-f", "lavfi", "-i", "aevalsrc='if(gt(t,2),sin(880*PI*t),0)':s=48000:d=4"];
    const plain = await openThumbnails(t, {
      inputs: quietThenLoud,
      video: false,
      extension: "mp3",
      audio: ["-c:a", "libmp3lame"],
    });
    const waveform = await decodeImage(t, (await plain.get("thumbnail.jpg?width=320&height=180")).bytes);
    assert.deepEqual(
      [
        waveform.codec,
        waveform.size,
        waveform.colour(0.75, 0.5) === waveform.colour(0.75, 0.02),
        waveform.colour(0.25, 0.4) === waveform.colour(0.25, 0.02),
      ],
      ["mjpeg", "320x180", false, true],
    );
    const covered = await openThumbnails(t, {
      inputs: [...quietThenLoud, "-f", "lavfi", "-i", "color=red:s=200x200:d=1:r=1"],
      video: ["-map", "0:a", "-map", "1:v", "-c:v", "mjpeg", "-frames:v", "1", "-disposition:v", "attached_pic"],
      extension: "mp3",
      audio: ["-c:a", "libmp3lame"],
    });
    const cover = await decodeImage(t, (await covered.get("thumbnail.jpg?width=320&height=180")).bytes);
    assert.deepEqual([cover.size, cover.colour(0.5, 0.5)], ["320x180", "red"]);
    assert.equal((await decodeImage(t, (await plain.get("thumbnail.jpg")).bytes)).size, "640x360");
  });

  test("are rendered once for concurrent requests, and not stored above the limit", async (t) => {
    const { get, objects, runs, video, thumbnails } = await openThumbnails(t, HALVES, {}, 2);
    const all = await Promise.all(Array.from({ length: 20 }, () => get("thumbnail.jpg?height=90")));
    assert.deepEqual([runs(), new Set(all.map(({ bytes }) => bytes.toString("hex"))).size], [1, 1]);
    await get("thumbnail.jpg?height=90");
    assert.equal(runs(), 1);
    assert.ok((await thumbnails.poster(video)).size > 0);
    assert.equal((await thumbnails.poster(video)).size, (await get("thumbnail.jpg")).bytes.length);
    assert.equal(runs(), 2);
    for (const time of [1, 2, 2]) assert.ok((await get(`thumbnail.jpg?time=${time}`)).bytes.length > 0);
    assert.equal(runs(), 5);
    assert.equal((await keysByPrefix(objects, `stream/${video.uid}/thumbs/`)).length, 2);
  });

  test("are not stored for a video that was deleted in the meantime", async (t) => {
    const { get, objects, video } = await openThumbnails(t, HALVES);
    const gone = { ...video, uid: "f".repeat(32) };
    assert.ok((await get("thumbnail.jpg", gone)).bytes.length > 0);
    assert.deepEqual(await keysByPrefix(objects, `stream/${gone.uid}/`), []);
  });
});
