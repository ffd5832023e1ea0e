import assert from "node:assert/strict";
import { test } from "node:test";
import { responseHeaders } from "./response-headers.ts";

const DANGEROUS = [
  "Service-Worker-Allowed",
  "Clear-Site-Data",
  "ALT-SVC",
  "Strict-Transport-Security",
  "NEL",
  "Report-To",
  "Reporting-Endpoints",
  "Origin-Agent-Cluster",
  "Accept-CH",
];
const raw = [
  "Content-Type",
  "text/html",
  ...DANGEROUS.flatMap((name) => [name, "x"]),
  "Connection",
  "close",
  "X-Mine",
  "1",
];

test("removes origin-wide headers on a shared host and sandboxes documents", () => {
  const [type, html, mine, one, policy, sandbox = "", ...more] = responseHeaders(raw, {
    kind: "shared",
    path: "/workers/x",
  });
  assert.deepEqual(
    [type, html, mine, one, policy, more],
    ["Content-Type", "text/html", "X-Mine", "1", "Content-Security-Policy", []],
  );
  assert.match(sandbox, /^sandbox .*allow-scripts/);
  assert.doesNotMatch(sandbox, /allow-same-origin/);
});

test("keeps origin-wide headers on the worker's own host", () => {
  const kept = raw.filter((_, i) => !["Connection", "close"].includes(raw[i]!));
  assert.deepEqual(responseHeaders(raw, { kind: "own", parent: "main.localhost" }), kept);
  assert.deepEqual(responseHeaders(raw), kept);
});

test("restricts cookies to the worker's path or domain", () => {
  const shared = (cookie: string) =>
    responseHeaders(["Set-Cookie", cookie], { kind: "shared", path: "/workers/x" }).slice(0, -2)[1];
  assert.equal(
    shared("a=1; Path=/; Domain=example.com; Secure; SameSite=None"),
    "a=1; Secure; SameSite=None; Path=/workers/x",
  );
  assert.equal(shared("a=b=c"), "a=b=c; Path=/workers/x");
  assert.equal(shared("a=1; PATH = /client; domain=.example.com"), "a=1; Path=/workers/x");
  assert.equal(shared("__Host-a=1; Path=/; Secure"), undefined);
  const own = (cookie: string) =>
    responseHeaders(["set-cookie", cookie], { kind: "own", parent: "main.workers.example.com" })[1];
  assert.equal(own("a=1; Domain=workers.example.com; Path=/"), "a=1; Path=/");
  assert.equal(own("a=1; domain=example.com"), "a=1");
  for (const fine of [
    "a=1; Domain=.main.workers.example.com",
    "a=1; Domain=x.main.workers.example.com; Path=/y",
    "a=1; Path=/",
  ])
    assert.equal(own(fine), fine);
  assert.equal(own("a=1; Domain=evilmain.workers.example.com"), "a=1");
});
