import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { test } from "node:test";
import { createClientAddress } from "./client-address.ts";

const request = (remoteAddress: string, headers: Record<string, string> = {}) =>
  ({ socket: { remoteAddress }, headers }) as unknown as IncomingMessage;

test("trusts only configured proxies, and only the hops before them", () => {
  const { ip, scheme } = createClientAddress(["10.0.0.0/8", "::1"]);
  const forwarded = { "x-forwarded-for": "6.6.6.6, 198.51.100.7, 10.1.1.1", "x-forwarded-proto": "https" };
  assert.equal(ip(request("203.0.113.9", forwarded)), "203.0.113.9");
  assert.equal(ip(request("10.2.3.4", forwarded)), "198.51.100.7");
  assert.equal(ip(request("::ffff:10.2.3.4", forwarded)), "198.51.100.7");
  assert.equal(ip(request("::1", { "x-forwarded-for": "nonsense" })), "::1");
  assert.equal(ip(request("10.2.3.4", { "x-forwarded-for": "10.9.9.9" })), "10.9.9.9");
  assert.deepEqual([scheme(request("203.0.113.9", forwarded)), scheme(request("::1", forwarded))], ["http", "https"]);
  assert.equal(createClientAddress([]).ip(request("::ffff:127.0.0.1", forwarded)), "127.0.0.1");
});
