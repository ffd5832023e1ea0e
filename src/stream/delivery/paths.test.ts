import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { parseVideoPath, routeFinder } from "./paths.ts";
import type { DeliveryRoute } from "./route.ts";

const uid = "0123456789abcdef0123456789abcdef";
const token = `eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.${"s".repeat(342)}`;

test("the URL of a video starts with a uid or a token", () => {
  assert.deepEqual(parseVideoPath(`/${uid}/manifest/video.m3u8?clientBandwidthHint=1.8`, ""), {
    id: uid,
    rest: "manifest/video.m3u8",
    query: "clientBandwidthHint=1.8",
  });
  assert.deepEqual(parseVideoPath(`/${token}/watch/`, ""), { id: token, rest: "watch", query: "" });
  assert.deepEqual(parseVideoPath(`/cdn-cgi/stream/${uid}`, "/cdn-cgi/stream"), { id: uid, rest: "", query: "" });
  assert.deepEqual(parseVideoPath(`/eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0./iframe`, ""), {
    id: "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.",
    rest: "iframe",
    query: "",
  });
  for (const url of [
    "/",
    "",
    "/embed/sdk.latest.js",
    "/favicon.ico",
    `/${uid.slice(1)}/watch`,
    `/${uid.toUpperCase()}/watch`,
    `/x${uid}/watch`,
    `/cdn-cgi/stream/${uid}/watch`,
    `/eyJ${"a".repeat(9000)}.b.c/watch`,
  ])
    assert.equal(parseVideoPath(url, ""), undefined, url);
  assert.equal(parseVideoPath(`/cdn-cgi/streams/${uid}/watch`, "/cdn-cgi/stream"), undefined);
  assert.equal(parseVideoPath(`/${uid}/watch`, "/cdn-cgi/stream"), undefined);
});

const route = (path: string, method?: "POST"): DeliveryRoute => ({
  path,
  purpose: "play",
  ...(method && { method }),
  handle: () => Promise.resolve(),
});

test("routes match literal words, parameters, and parts of a segment", () => {
  const all = [
    route("manifest/video.m3u8"),
    route("manifest/{rendition}.m3u8"),
    route("segments/{rendition}/{file}"),
    route("thumbnails/storyboard-{n}.jpg"),
    route("watch"),
    route("views", "POST"),
  ];
  const find = routeFinder(all);
  const found = (rest: string, method = "GET") => {
    const match = find(method, rest);
    return typeof match === "object" ? [match.route.path, match.params] : match;
  };
  assert.deepEqual(found("manifest/video.m3u8"), ["manifest/video.m3u8", {}]);
  assert.deepEqual(found("manifest/720p.m3u8", "HEAD"), ["manifest/{rendition}.m3u8", { rendition: "720p" }]);
  assert.deepEqual(found("segments/720p/12.m4s"), [
    "segments/{rendition}/{file}",
    { rendition: "720p", file: "12.m4s" },
  ]);
  assert.deepEqual(found("thumbnails/storyboard-3.jpg"), ["thumbnails/storyboard-{n}.jpg", { n: "3" }]);
  assert.deepEqual(found("segments/a%2Fb/c"), ["segments/{rendition}/{file}", { rendition: "a/b", file: "c" }]);
  for (const rest of [
    "",
    "manifest",
    "manifest/",
    "segments/720p",
    "segments/720p/1/2",
    "segments/%zz/1",
    "segments//1",
    "thumbnails/storyboardX3.jpg",
    "watch/it",
  ])
    assert.equal(found(rest), undefined, rest);
  assert.equal(found("watch", "POST"), "method");
  assert.equal(found("views"), "method");
});

test("the URL parser never throws", () => {
  const find = routeFinder([route("a/{x}"), route("b-{x}.{y}/{z}")]);
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.webPath(),
        fc.string().map((rest) => `/${uid}/${rest}`),
      ),
      (url) => {
        const address = parseVideoPath(url, "");
        if (address !== undefined) find("GET", address.rest);
      },
    ),
  );
});
