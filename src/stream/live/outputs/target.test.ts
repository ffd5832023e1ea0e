import assert from "node:assert/strict";
import { test } from "node:test";
import { readOutputTarget } from "./target.ts";

test("reads the URL of an output without changing it", () => {
  const read = (url: string, streamKey: string) => readOutputTarget({ url, streamKey });
  assert.deepEqual(read("rtmps://live.example.com:443/live/", "k"), {
    kind: "rtmp",
    host: "live.example.com",
    port: 443,
    secure: true,
    app: "live",
    tcUrl: "rtmps://live.example.com:443/live",
    key: "k",
  });
  assert.deepEqual(read("rtmp://live.example.com/live2/x?backup=1", "k"), {
    kind: "rtmp",
    host: "live.example.com",
    port: 1935,
    secure: false,
    app: "live2/x?backup=1",
    tcUrl: "rtmp://live.example.com/live2/x?backup=1",
    key: "k",
  });
  assert.deepEqual(read("rtmp://[2001:db8::1]/app/key", ""), {
    kind: "rtmp",
    host: "2001:db8::1",
    port: 1935,
    secure: false,
    app: "app",
    tcUrl: "rtmp://[2001:db8::1]/app",
    key: "key",
  });
  assert.deepEqual(read("srt://h.example:9000?streamid=%23!::r=x&latency=300", "0123456789"), {
    kind: "srt",
    host: "h.example",
    port: 9000,
    streamId: "#!::r=x",
    passphrase: "0123456789",
    latencyMs: 300,
  });
  for (const url of ["http://x/", "srt://x", "nothing"]) assert.throws(() => read(url, "k"), /its URL/);
  // ffmpeg would interpret these as another option.
  for (const url of [
    "srt://x:1?streamid=a%0Apassphrase=b",
    "srt://x:1?passphrase=0123456789%0a",
    `srt://x:1?streamid=${"a".repeat(513)}`,
    "srt://x:1?passphrase=short",
  ])
    assert.throws(() => read(url, ""), /its (stream ID|passphrase)/);
});
