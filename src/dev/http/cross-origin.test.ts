import assert from "node:assert/strict";
import { test } from "node:test";
import { hasLocalHost, isCrossOrigin } from "./cross-origin.ts";

const asks = (headers: Record<string, string>) => isCrossOrigin({ headers: { host: "127.0.0.1:8787", ...headers } });

test("distinguishes requests from pages of other origins from those of programs and of its own pages", () => {
  const ours: Record<string, string>[] = [
    {},
    { origin: "http://127.0.0.1:8787", "sec-fetch-site": "same-origin" },
    { "sec-fetch-site": "none" },
    { host: "one.localhost:8787", origin: "http://one.localhost:8787" },
    { host: "[::1]:8787", "sec-fetch-site": "same-origin" },
    { host: "mine.example" },
  ];
  for (const own of ours) assert.equal(asks(own), false, JSON.stringify(own));
  const others: Record<string, string>[] = [
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site", origin: "http://127.0.0.1:3000" },
    { origin: "https://evil.example" },
    { origin: "null" },
    { host: "evil.example:8787", origin: "http://evil.example:8787", "sec-fetch-site": "same-origin" },
    { host: "evil.example:8787", "sec-fetch-site": "same-origin" },
  ];
  for (const other of others) assert.equal(asks(other), true, JSON.stringify(other));
});

test("a public host name, as used in DNS rebinding, is not local", () => {
  for (const host of [
    "127.0.0.1:8787",
    "[::1]:8787",
    "localhost",
    "one.localhost:8787",
    "app:8787",
    "host.docker.internal",
  ])
    assert.equal(hasLocalHost({ headers: { host } }), true, host);
  for (const host of ["evil.example:8787", "127.0.0.1.evil.example", "localhost.evil.example", ""])
    assert.equal(hasLocalHost({ headers: { host } }), false, host);
  assert.equal(hasLocalHost({ headers: {} }), false);
});
