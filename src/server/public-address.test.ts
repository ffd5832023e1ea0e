import assert from "node:assert/strict";
import { test } from "node:test";
import { UserError } from "../kernel/index.ts";
import { settingsSchema, type SettingsInput } from "../kernel/settings.ts";
import { checkPublicAddress } from "./public-address.ts";

const KEY = Buffer.alloc(32).toString("base64");
const TOKEN = "t".repeat(32);
const refusal = (host: string, input: SettingsInput, initialized = false) => {
  try {
    checkPublicAddress(["127.0.0.1", host], settingsSchema.parse(input), initialized);
    return undefined;
  } catch (thrown) {
    assert.ok(thrown instanceof UserError);
    return `${thrown.message} ${thrown.fix}`;
  }
};

test("requires no configuration for loopback addresses", () => {
  for (const host of ["127.0.0.1", "127.3.2.1", "::1", "localhost"]) assert.equal(refusal(host, {}), undefined);
});

test("requires a secrets key and a first token for other addresses", () => {
  assert.match(refusal("0.0.0.0", {})!, /reach 0\.0\.0\.0, and no key .*REELPOST_SECRETS_KEY/);
  assert.match(refusal("::", { secrets: { key: KEY } })!, /no API token yet.*REELPOST_API_TOKEN/);
  assert.match(refusal("192.0.2.1", { secrets: { key: KEY }, api: { token: "short" } })!, /fewer than 32/);
  assert.equal(refusal("192.0.2.1", { secrets: { key: KEY }, api: { token: TOKEN } }), undefined);
  assert.equal(refusal("192.0.2.1", { secrets: { key_file: "/etc/key" } }, true), undefined);
});
