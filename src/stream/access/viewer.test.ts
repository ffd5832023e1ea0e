import assert from "node:assert/strict";
import { test } from "node:test";
import { viewerOf } from "./viewer.ts";

const ip = "192.0.2.1";
const viewer = (headers: Record<string, string>) => viewerOf(headers, { ip, self: "https://videos.example" });

test("a page is identified by its Origin, otherwise by its Referer", () => {
  assert.deepEqual(viewer({ origin: "https://a.example", referer: "https://b.example/page" }), {
    ip,
    origin: "https://a.example",
  });
  assert.deepEqual(viewer({ referer: "https://b.example:8080/page?x=1" }), { ip, origin: "https://b.example:8080" });
  assert.deepEqual(viewer({ referer: "nonsense" }), { ip });
  assert.deepEqual(viewer({ origin: "null" }), { ip, origin: "null" });
});

test("requests from the server's own player are recognized", () => {
  assert.deepEqual(viewer({ referer: "https://videos.example/abc/iframe" }), {
    ip,
    origin: "https://videos.example",
    place: "ours",
  });
  assert.deepEqual(viewer({ "sec-fetch-site": "same-origin", "sec-fetch-dest": "empty" }), { ip, place: "ours" });
  // Redirected back here by another site.
  assert.deepEqual(
    viewer({ referer: "https://videos.example/abc/iframe", "sec-fetch-site": "cross-site", "sec-fetch-dest": "video" }),
    { ip, origin: "https://videos.example" },
  );
  // Behind an untrusted proxy, the server does not know its public host name.
  assert.deepEqual(viewer({ origin: "https://outside.example", "sec-fetch-site": "same-origin" }), {
    ip,
    origin: "https://outside.example",
    place: "ours",
  });
});

test("a page that hides its origin is recognized", () => {
  for (const site of ["cross-site", "same-site"])
    assert.deepEqual(viewer({ "sec-fetch-site": site, "sec-fetch-dest": "video" }), { ip, place: "hidden" });
});

test("a frame counts as an embed, but a typed URL or a followed link does not", () => {
  assert.deepEqual(viewer({ "sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" }), {
    ip,
    place: "ours",
  });
  assert.deepEqual(
    viewer({
      referer: "https://search.example/",
      "sec-fetch-site": "cross-site",
      "sec-fetch-mode": "navigate",
      "sec-fetch-dest": "document",
    }),
    { ip, place: "ours" },
  );
  assert.deepEqual(
    viewer({
      referer: "https://evil.example/",
      "sec-fetch-site": "cross-site",
      "sec-fetch-mode": "navigate",
      "sec-fetch-dest": "iframe",
    }),
    { ip, origin: "https://evil.example" },
  );
  assert.deepEqual(viewer({}), { ip });
});
