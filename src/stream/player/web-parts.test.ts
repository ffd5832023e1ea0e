// Modules of web/ that need no browser.
import * as fc from "fast-check";
import assert from "node:assert/strict";
import { test } from "node:test";
import { localAddress } from "../../../web/embed/addresses.ts";
import { pickCaptions } from "../../../web/player/captions.ts";
import { createChunkCollector } from "../../../web/player/chunk-collector.ts";
import { CATCH_UP_RATE, type LivePosition, liveRate, skipStartDelay } from "../../../web/player/live-latency.ts";
import {
  type PlayerOptions,
  readOptions,
  readPreload,
  readTime,
  httpUrl,
  writeOptions,
} from "../../../web/player/options.ts";
import { createPace, sizeText, timeText } from "../../../web/upload/figures.ts";

const options = (query: string) => readOptions(new URLSearchParams(query));
const ID = "0123456789abcdef0123456789abcdef";

test("the query configures the player with the parameters of the hosted player", () => {
  assert.deepEqual(options(""), {
    autoplay: false,
    muted: false,
    loop: false,
    controls: true,
    preload: "none",
    poster: undefined,
    primaryColor: undefined,
    letterboxColor: undefined,
    defaultTextTrack: undefined,
    startTime: 0,
    adUrl: undefined,
    dvr: false,
    src: undefined,
    parentOrigin: undefined,
  });
  const all = options(
    `autoplay=false&mute=true&loop&controls=false&preload=true&poster=https%3A%2F%2Fa.example%2Fp.jpg&primaryColor=%23f00&letterboxColor=transparent&defaultTextTrack=pt-BR&startTime=1h2m3s&dvrEnabled=true&ad-url=https://ads.example/v&src=${ID}&parentOrigin=https://a.example/page`,
  );
  assert.deepEqual(all, {
    autoplay: true,
    muted: true,
    loop: true,
    controls: false,
    preload: "auto",
    poster: "https://a.example/p.jpg",
    primaryColor: "#f00",
    letterboxColor: "transparent",
    defaultTextTrack: "pt-BR",
    startTime: 3723,
    adUrl: "https://ads.example/v",
    dvr: true,
    src: ID,
    parentOrigin: "https://a.example",
  });
  assert.deepEqual(
    [
      options("muted=false").muted,
      options("loop=true").loop,
      options("controls").controls,
      options("autoplay").autoplay,
    ],
    [false, true, true, true],
  );
});

test("writing options to a query replaces all earlier player parameters in it", () => {
  const text = fc.option(fc.string({ minLength: 1 }), { nil: undefined });
  const address = fc.option(
    fc.webUrl().map((url) => new URL(url).href),
    { nil: undefined },
  );
  const changed = fc.record<Partial<PlayerOptions>>({
    autoplay: fc.boolean(),
    muted: fc.boolean(),
    loop: fc.boolean(),
    controls: fc.boolean(),
    preload: fc.constantFrom("none", "metadata", "auto"),
    poster: address,
    primaryColor: text,
    letterboxColor: text,
    defaultTextTrack: text,
    adUrl: address,
  });
  const before = fc.constantFrom(
    "",
    `autoplay&mute&loop=1&controls=false&preload&poster=x&ad-url=https://ads.example/v&src=${ID}&defaultTextTrack=`,
  );
  fc.assert(
    fc.property(before, changed, (query, change) => {
      const wanted = { ...options(`${query}&startTime=5&dvrEnabled=true&parentOrigin=https://a.example`), ...change };
      assert.deepEqual(
        readOptions(
          writeOptions(
            wanted,
            new URLSearchParams(`${query}&startTime=5&dvrEnabled=true&parentOrigin=https://a.example`),
          ),
        ),
        { ...wanted, src: undefined },
      );
    }),
  );
});

test("times are seconds, or hours, minutes and seconds, and invalid times mean the start", () => {
  for (const [text, seconds] of [
    ["123", 123],
    ["12.5", 12.5],
    ["1h12m27s", 4347],
    ["90s", 90],
    ["2m", 120],
    ["1h", 3600],
    ["", 0],
    ["-5", 0],
    ["1s2m", 0],
    ["soon", 0],
    ["1e9", 0],
  ] as const)
    assert.equal(readTime(text), seconds, text);
  fc.assert(fc.property(fc.string(), (text) => readTime(text) >= 0 && Number.isFinite(readTime(text))));
});

test("parses the preload parameter", () => {
  for (const [value, read] of [
    [true, "auto"],
    ["", "auto"],
    ["true", "auto"],
    ["auto", "auto"],
    ["metadata", "metadata"],
    ["none", "none"],
    [false, "none"],
    [undefined, "none"],
    [{}, "none"],
  ] as const)
    assert.equal(readPreload(value), read);
});

test("only http and https URLs are accepted from a query", () => {
  for (const bad of [
    "javascript:alert(1)",
    "data:text/html,x",
    "blob:https://a.example/x",
    "//a.example",
    "",
    "x",
    null,
    7,
    {},
  ])
    assert.equal(httpUrl(bad), undefined);
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.webUrl()), (text) => /^https?:|^undefined$/.test(String(httpUrl(text)))),
  );
});

test("frames of the hosted player are rewritten to our host, and all other frames remain unchanged", () => {
  const root = "https://video.example/cdn-cgi/stream/";
  for (const [hosted, path] of [
    [
      `https://customer-m033z5x00ks6nunl.cloudflarestream.com/${ID}/iframe?muted=true&x=1#t`,
      `${ID}/iframe?muted=true&x=1#t`,
    ],
    [`https://customer-m033z5x00ks6nunl.cloudflarestream.com/${ID}/watch`, `${ID}/watch`],
    [`https://iframe.cloudflarestream.com/${ID}?preload=metadata`, `${ID}/iframe?preload=metadata`],
    [`https://iframe.videodelivery.net/${ID}`, `${ID}/iframe`],
    [`https://watch.cloudflarestream.com/${ID}`, `${ID}/watch`],
    [
      "https://iframe.cloudflarestream.com/eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln-_",
      "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln-_/iframe",
    ],
  ] as const)
    assert.equal(localAddress(hosted, root), root + path);
  for (const other of [
    "about:blank",
    "",
    "/x/iframe",
    `https://example.com/${ID}/iframe`,
    `https://cloudflarestream.com.example/${ID}/iframe`,
    `https://evilcloudflarestream.com/${ID}`,
    `https://live.cloudflarestream.com/${ID}`,
    "https://iframe.cloudflarestream.com/",
    "https://iframe.cloudflarestream.com/short",
    `https://customer-x.cloudflarestream.com/${ID}/downloads/default.mp4`,
    `ftp://iframe.cloudflarestream.com/${ID}`,
  ])
    assert.equal(localAddress(other, root), undefined, other);
  fc.assert(fc.property(fc.string(), (text) => (localAddress(text, root) ?? root).startsWith(root)));
});

test("captions match the exact language tag, otherwise the language alone", () => {
  assert.equal(pickCaptions(["en-US", "en", "de"], "en"), 1);
  assert.equal(pickCaptions(["de", "EN-gb"], "en"), 1);
  assert.equal(pickCaptions(["pt"], "pt-BR"), 0);
  assert.equal(pickCaptions(["de", ""], "fr"), -1);
});

test("upload progress is formatted as short text", () => {
  assert.deepEqual([0, 900, 1024, 1_500_000, 123_456_789, 30 * 1024 ** 3, 5e15].map(sizeText), [
    "0 bytes",
    "900 bytes",
    "1 KB",
    "1.4 MB",
    "118 MB",
    "30 GB",
    "4547 TB",
  ]);
  assert.deepEqual([0, 12, 61, 100, 3600, 3660, 7199].map(timeText), [
    "a few seconds",
    "10 s",
    "60 s",
    "2 min",
    "1 h",
    "1 h 1 min",
    "2 h",
  ]);
});

test("the upload rate is measured over the last few seconds, and is not shown before it is known", () => {
  const pace = createPace();
  pace.note(0, 0);
  pace.note(10, 500);
  assert.equal(pace.speed(), 0);
  for (let second = 1; second <= 20; second++) pace.note(second * 1000, second * 1000);
  assert.equal(pace.speed(), 1000);
  pace.clear();
  assert.equal(pace.speed(), 0);
});

const liveAt = (currentTime: number, given: Partial<LivePosition> = {}): LivePosition => ({
  currentTime,
  sync: 10,
  buffered: { start: 0, end: 10.6 },
  partTarget: 0.2,
  ...given,
});

test("a live viewer catches up to the target latency while two parts are buffered", () => {
  assert.equal(liveRate(liveAt(9.8), 1), CATCH_UP_RATE);
  assert.equal(liveRate(liveAt(9.95), 1), 1, "close enough");
  assert.equal(liveRate(liveAt(9.95), CATCH_UP_RATE), CATCH_UP_RATE, "continues until the target is reached");
  assert.equal(liveRate(liveAt(9.99), CATCH_UP_RATE), 1);
  assert.equal(liveRate(liveAt(10.3), CATCH_UP_RATE), 1, "ahead of the target");
  assert.equal(liveRate(liveAt(9.8, { buffered: { start: 0, end: 10.1 } }), 1), 1, "would stall");
  assert.equal(liveRate(liveAt(9.8, { partTarget: 0 }), 1), 1, "whole segments need a buffer of a second");
  assert.equal(liveRate(liveAt(9.5, { partTarget: 0 }), 1), CATCH_UP_RATE);
});

test("live playback skips the time that its start took, once the target position is buffered", () => {
  const media = Object.assign(new EventTarget(), { currentTime: 0, paused: true, readyState: 0, seeking: false });
  let position: LivePosition | undefined;
  const skip = skipStartDelay(media, () => position && { ...position, currentTime: media.currentTime });
  const checked = () => {
    skip.check();
    return media.currentTime;
  };
  assert.equal(checked(), 0);
  position = liveAt(0);
  media.readyState = 2;
  assert.equal(checked(), 0, "paused");
  media.paused = false;
  media.currentTime = 9;
  position = liveAt(0, { buffered: { start: 8, end: 10.1 } });
  assert.equal(checked(), 9, "not buffered yet");
  media.seeking = true;
  position = liveAt(0);
  assert.equal(checked(), 9, "hls.js seeks to its start position");
  media.seeking = false;
  media.dispatchEvent(new Event("playing"));
  assert.equal(media.currentTime, 10);
  position = liveAt(0, { sync: 12, buffered: { start: 8, end: 12.6 } });
  assert.equal(checked(), 10, "only once");
});

test("live playback does not leave a position that the viewer has chosen", () => {
  const media = Object.assign(new EventTarget(), { currentTime: 9, paused: false, readyState: 4, seeking: false });
  let position: LivePosition | undefined;
  const skip = skipStartDelay(media, () => position);
  media.dispatchEvent(new Event("playing"));
  media.dispatchEvent(new Event("seeking"));
  position = liveAt(9);
  skip.check();
  assert.equal(media.currentTime, 9);
});

test("a chunk of a segment is passed on as soon as its last octet has arrived, and not before", () => {
  const box = (type: string, length: number, isLarge = false) => {
    const header = Buffer.alloc(isLarge ? 16 : 8);
    header.writeUInt32BE(isLarge ? 1 : 8 + length);
    header.write(type, 4, "latin1");
    if (isLarge) header.writeBigUInt64BE(BigInt(16 + length), 8);
    return Buffer.concat([header, Buffer.alloc(length, type)]);
  };
  const chunk = fc
    .tuple(fc.nat(40), fc.integer({ min: 8, max: 300 }), fc.boolean())
    .map(([header, data, isLarge]) => Buffer.concat([box("moof", header), box("mdat", data, isLarge)]));
  fc.assert(
    fc.property(
      fc.array(chunk, { maxLength: 5 }),
      fc.nat(20),
      fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 9 }),
      (chunks, restLength, steps) => {
        const first = box("styp", 8);
        const segment = Buffer.concat([first, ...chunks, Buffer.alloc(restLength, 1)]);
        const collector = createChunkCollector();
        const passed: Buffer[] = [];
        for (let at = 0, n = 0; at < segment.length; n++) {
          const end = Math.min(segment.length, at + steps[n % steps.length]!);
          const data = collector.add(new Uint8Array(segment.subarray(at, end)));
          if (data !== undefined) passed.push(Buffer.from(data));
          at = end;
          let chunkEnd = first.length;
          const complete = chunks.map((one) => (chunkEnd += one.length)).filter((position) => position <= at);
          assert.equal(Buffer.concat(passed).length, complete.at(-1) ?? 0);
        }
        const rest = collector.rest();
        if (rest !== undefined) passed.push(Buffer.from(rest));
        assert.deepEqual(Buffer.concat(passed), segment);
      },
    ),
  );
});
