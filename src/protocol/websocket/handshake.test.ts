import assert from "node:assert/strict";
import { test } from "node:test";
import { acceptance, acceptOf, readHandshake } from "./handshake.ts";

const headers = {
  upgrade: "websocket",
  connection: "keep-alive, Upgrade",
  "sec-websocket-version": "13",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
};

test("follows the example of RFC 6455 1.3", () =>
  assert.equal(acceptOf("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));

test("recognizes a handshake, with its protocols in order", () => {
  assert.deepEqual(
    readHandshake({
      method: "GET",
      headers: { ...headers, upgrade: "WebSocket", "sec-websocket-protocol": "trace-v1, other ,," },
    }),
    { ok: true, key: headers["sec-websocket-key"], protocols: ["trace-v1", "other"] },
  );
  assert.equal(
    acceptance(headers["sec-websocket-key"], "trace-v1").split("\r\n").at(-3),
    "Sec-WebSocket-Protocol: trace-v1",
  );
  assert.doesNotMatch(acceptance(headers["sec-websocket-key"]), /Protocol:|Extensions/);
});

const REFUSED: [string, Record<string, string | undefined>, number][] = [
  ["POST", headers, 405],
  ["GET", { ...headers, connection: "keep-alive" }, 426],
  ["GET", { ...headers, upgrade: "h2c" }, 426],
  ["GET", { ...headers, "sec-websocket-version": "8" }, 426],
  ["GET", { ...headers, "sec-websocket-key": undefined }, 400],
  ["GET", { ...headers, "sec-websocket-key": "c2hvcnQ=" }, 400],
];
for (const [index, [method, wrong, status]] of REFUSED.entries()) {
  test(`rejects an invalid handshake: case ${index}`, () => {
    const handshake = readHandshake({ method, headers: wrong });
    assert.equal(handshake.ok ? 101 : handshake.status, status);
    if (!handshake.ok && status === 426)
      assert.ok("Sec-WebSocket-Version" in handshake.headers || "Upgrade" in handshake.headers);
  });
}
