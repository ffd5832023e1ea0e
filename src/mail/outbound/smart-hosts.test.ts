import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { UserError } from "../../kernel/index.ts";
import { readSmartHost } from "./smart-hosts.ts";

test("parses smart host URLs", () => {
  assert.deepEqual(readSmartHost("smtp://relay.example"), { host: "relay.example", port: 25 });
  assert.deepEqual(readSmartHost("smtp://10.0.0.5:2525"), { host: "10.0.0.5", port: 2525 });
  assert.deepEqual(readSmartHost("smtp://[2001:db8::1]:26/"), { host: "2001:db8::1", port: 26 });
  assert.deepEqual(readSmartHost("smtp://me:s%40cret%3a@Relay.Example:587"), {
    host: "relay.example",
    port: 587,
    auth: { user: "me", pass: "s@cret:" },
  });
  assert.deepEqual(readSmartHost("smtp://me:pw@relay.example"), {
    host: "relay.example",
    port: 587,
    auth: { user: "me", pass: "pw" },
  });
  assert.deepEqual(readSmartHost("smtps://me%40x.example:pw@relay.example"), {
    host: "relay.example",
    port: 465,
    auth: { user: "me@x.example", pass: "pw" },
    tls: "implicit",
  });
  assert.deepEqual(readSmartHost("smtp://relay.example?tls=require"), {
    host: "relay.example",
    port: 25,
    tls: "require",
  });
  // The scheme without the "s" means STARTTLS, whatever the port.
  assert.equal(readSmartHost("smtp://relay.example:465").tls, "opportunistic");
});

test("reports invalid URLs, never with their password", () => {
  const bad: [string, RegExp][] = [
    ["relay.example", /cannot be read/],
    ["http://relay.example", /does not start with smtp/],
    ["smtp://", /no host|cannot be read/],
    ["smtp://a b", /no host|cannot be read/],
    ["smtp://relay.example/x", /after the port/],
    ["smtp://relay.example?tls=maybe", /tls must be one of/],
    ["smtp://relay.example?x=1", /unknown option x/],
    ["smtp://me@relay.example", /set together/],
    ["smtp://me:%zz@relay.example", /hex digits/],
    ["smtp://me:pw@relay.example?tls=none", /requires TLS/],
    ["smtps://relay.example?tls=none", /smtps always verifies/],
    ["smtp://relay.example:0", /port 0 is invalid/],
    ["smtp://relay.example:99999", /cannot be read/],
  ];
  for (const [text, why] of bad)
    assert.throws(
      () => readSmartHost(text),
      (err) =>
        err instanceof UserError &&
        err.kind === "badSmartHost" &&
        why.test(err.message) &&
        !err.message.includes("pw@"),
      text,
    );
});

test("accepts or rejects any text without crashing", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.string().map((text) => `smtp://${text}`),
      ),
      (text) => {
        try {
          const { host, port } = readSmartHost(text);
          assert.ok(host !== "" && port > 0 && port < 65_536);
        } catch (err) {
          assert.ok(err instanceof UserError, String(err));
        }
      },
    ),
  );
});
