import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { UserError } from "../../../kernel/index.ts";
import { isKey, readSrtStreamId } from "./keys.ts";
import { checkTarget, type OutputTarget } from "./output-target.ts";

const tried = (target: OutputTarget, allowPrivate: boolean): OutputTarget | string => {
  try {
    return checkTarget(target, allowPrivate);
  } catch (err) {
    assert.ok(err instanceof UserError, String(err));
    return err.message;
  }
};

const address = fc
  .tuple(
    fc.constantFrom("rtmp", "RTMPS", "srt", "http", "file", ""),
    fc.constantFrom("://", ":", "//"),
    fc.oneof(
      fc.domain(),
      fc.ipV4(),
      fc.ipV6().map((ip) => `[${ip}]`),
      fc.string(),
    ),
    fc.constantFrom("", ":1935", ":0", ":99999", ":x"),
    fc.string(),
  )
  .map((parts) => parts.join(""));

test("accepts only RTMP or SRT URLs without control characters, and rejects others with an error that does not reveal the key", () => {
  fc.assert(
    fc.property(
      fc.oneof(address, fc.string(), fc.constantFrom("rtmp://example.com/app", "srt://example.com:9000?streamid=x")),
      fc.string(),
      fc.boolean(),
      (url, streamKey, allowPrivate) => {
        const key = `sesame${streamKey}`;
        const taken = tried({ url, streamKey: key }, allowPrivate);
        if (typeof taken === "string") return assert.ok(!taken.includes("sesame"));
        assert.ok(["rtmp:", "rtmps:", "srt:"].includes(new URL(taken.url).protocol));
        // oxlint-disable-next-line no-control-regex
        assert.doesNotMatch(taken.url + taken.streamKey, /[\u0000-\u001f\u007f]/);
        assert.equal(taken.streamKey, key);
      },
    ),
    { numRuns: 500 },
  );
});

test("rejects private addresses in any notation, unless allowed", () => {
  for (const host of [
    "127.0.0.1",
    "0x7f.1",
    "2130706433",
    "[::1]",
    "[::ffff:10.0.0.1]",
    "10.1.2.3",
    "169.254.169.254",
    "192.168.1.1",
    "localhost",
    "LOCALHOST.",
    "a.localhost",
    "0.0.0.0",
  ]) {
    for (const url of [`rtmp://${host}/x`, `rtmps://${host}:443/x`, `srt://${host}:9000`]) {
      const target = { url, streamKey: "sesame1234" };
      assert.match(String(tried(target, false)), /is not a public host/, url);
      assert.deepEqual(tried(target, true), target, url);
    }
  }
});

test("accepts only well-formed keys and stream ids", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      assert.equal(isKey(text), false);
      assert.equal(readSrtStreamId(text), undefined);
    }),
  );
  fc.assert(
    fc.property(fc.stringMatching(/^(play)?[0-9a-f]{32}$/), (id) => {
      assert.deepEqual(
        readSrtStreamId(id),
        id.startsWith("play") ? { uid: id.slice(4), direction: "play" } : { uid: id, direction: "publish" },
      );
      assert.equal(readSrtStreamId(`${id}\n`), undefined);
    }),
  );
});
