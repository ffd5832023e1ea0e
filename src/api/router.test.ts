import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { TrieRouter } from "hono/router/trie-router";
import { createSegmentRouter } from "./router.ts";

const PATTERNS = [
  "/",
  "/a",
  "/a/:x",
  "/a/:x/b",
  "/a/verify",
  "/a/verify/:y",
  "/:x/c",
  "/k/:key{.+}",
  "/k/b/list",
  "/a/:x/k/:rest{.+}",
];

const seen = (result: ReturnType<ReturnType<typeof createSegmentRouter<string>>["match"]>) =>
  result[0].map(([handler, params]) => [handler, params]);

function routers() {
  const ours = createSegmentRouter<string>();
  const theirs = new TrieRouter<string>();
  // Hono's router prefers the first pattern added, so literals are added first.
  for (const pattern of [...PATTERNS].sort((a, b) => (a.includes(":") ? 1 : 0) - (b.includes(":") ? 1 : 0))) {
    ours.add("GET", pattern, pattern);
    theirs.add("GET", pattern, pattern);
  }
  return { ours, theirs };
}

test("a literal takes precedence over a parameter, with backtracking", () => {
  const { ours } = routers();
  const match = (path: string, method = "GET") => seen(ours.match(method, path))[0];
  assert.deepEqual(match("/a/verify"), ["/a/verify", {}]);
  assert.deepEqual(match("/a/verify/b"), ["/a/verify/:y", { y: "b" }]);
  assert.deepEqual(match("/a/verify/k/z"), ["/a/:x/k/:rest{.+}", { x: "verify", rest: "z" }]);
  assert.deepEqual(match("/k/b/list"), ["/k/b/list", {}]);
  assert.deepEqual(match("/k/b/c//d"), ["/k/:key{.+}", { key: "b/c//d" }]);
  assert.deepEqual(match("/q/c"), ["/:x/c", { x: "q" }]);
  // Hono's `*` also matches an empty rest; here it requires at least one character, like `{.+}`.
  ours.add("GET", "/o/*", "/o/*");
  assert.deepEqual(match("/o/anything/at/all")?.[0], "/o/*");
  assert.equal(match("/o"), undefined);
  for (const path of ["/k/", "/k", "/a/x/b/c", "/b", ""]) assert.equal(match(path), undefined, path);
  assert.equal(match("/a", "POST"), undefined);
});

test("ignores a trailing slash, except in DELETE requests and where it may be part of a key", () => {
  const router = createSegmentRouter<string>();
  for (const [method, path] of [
    ["GET", "/a"],
    ["DELETE", "/a"],
    ["GET", "/a/:x"],
    ["GET", "/k"],
    ["GET", "/k/:key{.+}"],
  ] as const)
    router.add(method, path, `${method} ${path}`);
  const match = (method: string, path: string) => seen(router.match(method, path))[0];
  assert.deepEqual(match("GET", "/a/"), ["GET /a", {}]);
  assert.deepEqual(match("GET", "/a/b/"), ["GET /a/:x", { x: "b" }]);
  assert.deepEqual(match("GET", "/k/b/"), ["GET /k/:key{.+}", { key: "b/" }]);
  for (const [method, path] of [
    ["DELETE", "/a/"],
    ["GET", "/k/"],
    ["GET", "/a//"],
    ["GET", "/"],
  ] as const)
    assert.equal(match(method, path), undefined, `${method} ${path}`);
});

test("finds the same routes as Hono's router", () => {
  const { ours, theirs } = routers();
  const segment = fc.constantFrom("a", "b", "c", "k", "o", "x", "verify", "list", "%2F", "é");
  fc.assert(
    fc.property(fc.array(segment, { minLength: 1, maxLength: 6 }), (segments) => {
      const path = `/${segments.join("/")}`;
      const first = seen(theirs.match("GET", path) as never)[0];
      const mine = seen(ours.match("GET", path))[0];
      assert.equal(mine === undefined, first === undefined, path);
      if (mine !== undefined)
        assert.ok(
          seen(theirs.match("GET", path) as never).some(([handler]) => handler === mine[0]),
          path,
        );
    }),
  );
});
