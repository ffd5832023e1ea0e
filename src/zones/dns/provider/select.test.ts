import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../../kernel/index.ts";
import { settingsSchema, type Settings } from "../../../kernel/settings.ts";
import { selectProvider } from "./select.ts";

const select = (dns: Partial<Settings["dns"]>) =>
  selectProvider({ ...settingsSchema.parse({}).dns, ...dns }, systemClock)?.kind;
const TSIG = "hmac-sha256:reelpost:c2VjcmV0";

test("selects the provider of the settings; embedded and manual zones have none", () => {
  assert.equal(select({ provider: "embedded" }), undefined);
  assert.equal(select({ provider: "manual" }), undefined);
  for (const server of ["192.0.2.1", "192.0.2.1:5353", "[2001:db8::1]:53", "ns.example.com"])
    assert.equal(select({ provider: "rfc2136", provider_server: server, provider_key: TSIG }), "rfc2136", server);
  assert.equal(
    select({ provider: "powerdns", provider_server: "http://127.0.0.1:8081", provider_key: "key" }),
    "powerdns",
  );
});

test("rejects incomplete and malformed settings", () => {
  for (const [provider, server, key, reason] of [
    ["rfc2136", "", TSIG, /provider_server is empty/],
    ["powerdns", "http://127.0.0.1:8081", "", /provider_key is empty/],
    ["powerdns", "127.0.0.1:8081", "key", /127\.0\.0\.1:8081 is not an http:\/\/ or https:\/\/ URL/],
    ["rfc2136", "192.0.2.1:70000", TSIG, /70000 does not have the form `address:port`/],
    ["rfc2136", "192.0.2.1", "secret", /provider_key does not have the form `algorithm:name:secret`/],
  ] as const)
    assert.throws(() => select({ provider, provider_server: server, provider_key: key }), {
      kind: "badProvider",
      message: reason,
    });
});
