import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { frameAncestors, hostEntry, isAllowedOrigin } from "./origins.ts";

const on = (origin: string, ...allowed: string[]) => isAllowedOrigin(origin, allowed);

test("an empty list allows every origin", () => {
  assert.ok(on("https://anything.example"));
  assert.ok(on("null"));
});

test("a host matches itself at the default ports, but not its subdomains", () => {
  assert.ok(on("https://example.com", "example.com"));
  assert.ok(on("http://example.com", "example.com"));
  assert.ok(on("https://EXAMPLE.com", "Example.COM"));
  assert.ok(!on("https://www.example.com", "example.com"));
  assert.ok(!on("https://example.com.evil.test", "example.com"));
  assert.ok(!on("https://badexample.com", "example.com"));
  assert.ok(!on("https://example.com:8443", "example.com"));
  assert.ok(on("https://example.com:8443", "example.com:8443"));
  assert.ok(on("https://bücher.example", "bücher.example"));
  assert.ok(on("https://xn--bcher-kva.example", "bücher.example"));
});

test("a wildcard matches subdomains at any depth, but not the host itself", () => {
  assert.ok(on("https://a.example.com", "*.example.com"));
  assert.ok(on("https://a.b.example.com", "*.example.com"));
  assert.ok(!on("https://example.com", "*.example.com"));
  assert.ok(!on("https://badexample.com", "*.example.com"));
  assert.ok(!on("https://a.example.com:3000", "*.example.com"));
  assert.ok(on("https://a.example.com:3000", "*.example.com:3000"));
  assert.ok(on("https://whatever.test", "*"));
});

test("localhost needs its port unless it is the default one", () => {
  assert.ok(!on("http://localhost:3000", "localhost"));
  assert.ok(on("http://localhost:3000", "localhost:3000"));
  assert.ok(!on("http://localhost:3001", "localhost:3000"));
  assert.ok(on("http://localhost", "localhost"));
  assert.ok(on("https://localhost", "localhost"));
  assert.ok(on("http://localhost:443", "localhost"));
  assert.ok(on("http://localhost", "localhost:80"));
  assert.ok(on("http://[::1]:3000", "[::1]:3000"));
});

test("one matching entry is sufficient, and opaque or malformed origins match no entry", () => {
  assert.ok(on("https://b.example", "a.example", "b.example"));
  for (const origin of ["null", "", "example.com", "https://", "//example.com", "data:text/html,x", "about:blank"])
    assert.ok(!on(origin, "example.com"), origin);
});

test("a scheme before a host is ignored, and a path makes an entry invalid", () => {
  assert.equal(hostEntry("https://example.com/"), "example.com");
  assert.equal(hostEntry(" example.com "), "example.com");
  for (const entry of [
    "",
    "example.com/videos",
    "a b.example",
    "*.",
    "*.*",
    "exa*mple.com",
    "example.com:port",
    "https://",
  ])
    assert.ok(["", undefined].includes(hostEntry(entry)) || !on("https://example.com", entry), entry);
});

test("every combination of entry and origin has a result, and an exact host never matches a longer one", () => {
  fc.assert(fc.property(fc.string(), fc.string(), (origin, entry) => void isAllowedOrigin(origin, [entry])));
  fc.assert(
    fc.property(fc.domain(), fc.domain(), (name, prefix) => {
      assert.ok(isAllowedOrigin(`https://${name}`, [name]));
      assert.ok(!isAllowedOrigin(`https://${prefix}.${name}`, [name]));
      assert.ok(isAllowedOrigin(`https://${prefix}.${name}`, [`*.${name}`]));
      assert.ok(!isAllowedOrigin(`https://${name}`, [`*.${name}`]));
    }),
  );
});

test("a response header states which pages may embed the video", () => {
  assert.equal(frameAncestors([]), undefined);
  assert.equal(frameAncestors(["example.com", "*"]), undefined);
  assert.equal(
    frameAncestors(["example.com", "*.x.test:3000"]),
    "frame-ancestors 'self' http://example.com https://example.com http://*.x.test:3000 https://*.x.test:3000",
  );
  // Text that could end the header or start another directive is removed.
  assert.equal(
    frameAncestors(["a.example; script-src *", "a;script-src", "a,b", "b\r\nSet-Cookie: x"]),
    "frame-ancestors 'self'",
  );
});
