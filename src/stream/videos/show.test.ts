import assert from "node:assert/strict";
import { test } from "node:test";
import { customerCode } from "../customers/customer-code.ts";
import { showVideo } from "./show.ts";
import { createStreamUrls } from "./urls.ts";
import { testVideo } from "./videos.testing.ts";

test("incomplete progress is never displayed as complete, and numbers are strings with six decimals", () => {
  const urls = createStreamUrls({ deliveryDomain: "", base: () => "http://127.0.0.1:8787" });
  const shown = (pctComplete: number) => showVideo(testVideo({ pctComplete }), urls).status.pctComplete;
  assert.deepEqual([0, 39, 100 / 3, 99.999_999_9, 100].map(shown), [
    "0.000000",
    "39.000000",
    "33.333333",
    "99.999999",
    "100.000000",
  ]);
});

test("rarely used fields are omitted from videos that do not have them", () => {
  const urls = createStreamUrls({ deliveryDomain: "", base: () => "" });
  assert.deepEqual(
    ["liveInput", "clippedFrom", "model", "account", "sourceKey", "clip", "state"].filter(
      (field) => field in showVideo(testVideo({ clip: { start: 1, end: 2 } }), urls),
    ),
    [],
  );
  assert.equal(showVideo(testVideo({ clippedFrom: "c" }), urls).clippedFrom, "c");
});

test("URLs are on the account's delivery host, or on this server, and accept a token in place of the uid", () => {
  const video = testVideo();
  const code = customerCode(video.account);
  const hls = (deliveryDomain: string, base: string, prefix?: string, id?: string) =>
    createStreamUrls({ deliveryDomain, base: () => base, ...(prefix !== undefined && { prefix }) }).of(video, id).hls;
  assert.equal(hls("", "http://127.0.0.1:8787"), `http://127.0.0.1:8787/${video.uid}/manifest/video.m3u8`);
  assert.equal(
    hls("", "http://localhost:8787", "/cdn-cgi/stream", "to.ke.n"),
    "http://localhost:8787/cdn-cgi/stream/to.ke.n/manifest/video.m3u8",
  );
  assert.equal(
    hls("videos.example.com", "https://api.example.com"),
    `https://customer-${code}.videos.example.com/${video.uid}/manifest/video.m3u8`,
  );
  assert.equal(
    hls("videos.example.com", "https://api.example.com:8443", "/ignored"),
    `https://customer-${code}.videos.example.com:8443/${video.uid}/manifest/video.m3u8`,
  );
  assert.equal(
    hls("videos.localhost:9000", "http://localhost:8787"),
    `http://customer-${code}.videos.localhost:9000/${video.uid}/manifest/video.m3u8`,
  );
  assert.equal(
    createStreamUrls({ deliveryDomain: "v.example", base: () => "https://a.example" }).upload("u", "s"),
    "https://a.example/upload/u/s",
  );
});
