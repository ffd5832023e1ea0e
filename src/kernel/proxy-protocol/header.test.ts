import assert from "node:assert/strict";
import { isIP } from "node:net";
import { test } from "node:test";
import * as fc from "fast-check";
import { readProxyHeader } from "./header.ts";

const SIGNATURE = Buffer.from("0d0a0d0a000d0a515549540a", "hex");

function v2({
  versionCommand = 0x21,
  family = 0x11,
  body = Buffer.alloc(0),
  length = body.length,
}: {
  versionCommand?: number;
  family?: number;
  body?: Buffer;
  length?: number;
}) {
  return Buffer.concat([SIGNATURE, Buffer.from([versionCommand, family, length >> 8, length & 255]), body]);
}

const ipv4 = fc.ipV4();
const ipv6 = fc.array(fc.integer({ min: 1, max: 0xffff }), { minLength: 8, maxLength: 8 });
const port = fc.integer({ min: 0, max: 65_535 });
const read = (bytes: string | Buffer) => readProxyHeader(Buffer.from(bytes as string));

test("version 1 contains the client address, and the client's own octets follow the header", () => {
  assert.deepEqual(read("PROXY TCP4 192.0.2.7 198.51.100.1 56324 25\r\nEHLO x\r\n"), {
    state: "whole",
    length: 44,
    client: { ip: "192.0.2.7", port: 56324 },
  });
  assert.deepEqual(read("PROXY TCP6 2001:DB8::7 2001:db8::1 5 25\r\n"), {
    state: "whole",
    length: 41,
    client: { ip: "2001:db8::7", port: 5 },
  });
  assert.deepEqual(read("PROXY UNKNOWN\r\n"), { state: "whole", length: 15 });
  assert.deepEqual(read("PROXY UNKNOWN ffff:f::1 any thing\r\n"), { state: "whole", length: 35 });
});

test("version 2 contains the client address, and its extensions are skipped", () => {
  const addresses = Buffer.from([192, 0, 2, 7, 198, 51, 100, 1, 0xdc, 0x04, 0, 25]);
  assert.deepEqual(read(v2({ body: addresses })), {
    state: "whole",
    length: 28,
    client: { ip: "192.0.2.7", port: 56324 },
  });
  assert.deepEqual(read(v2({ body: Buffer.concat([addresses, Buffer.from([0x04, 0, 3, 1, 2, 3])]) })), {
    state: "whole",
    length: 34,
    client: { ip: "192.0.2.7", port: 56324 },
  });
  const six = Buffer.concat([
    Buffer.from("20010db8000000000000000000000007", "hex"),
    Buffer.alloc(16, 1),
    Buffer.from([0, 5, 0, 25]),
  ]);
  assert.deepEqual(read(v2({ family: 0x21, body: six })), {
    state: "whole",
    length: 52,
    client: { ip: "2001:db8::7", port: 5 },
  });
  assert.deepEqual(
    read(v2({ versionCommand: 0x20, family: 0x11, body: addresses })),
    { state: "whole", length: 28 },
    "LOCAL: a health check of the proxy itself",
  );
  assert.deepEqual(read(v2({ family: 0 })), { state: "whole", length: 16 }, "UNSPEC");
  assert.deepEqual(
    read(v2({ family: 0x31, body: Buffer.alloc(216) })),
    { state: "whole", length: 232 },
    "a unix socket",
  );
});

for (const [name, header] of Object.entries({
  "no header": "EHLO client.example\r\n",
  "another keyword": "PROXIES TCP4 192.0.2.7 198.51.100.1 1 2\r\n",
  "lowercase keyword": "proxy TCP4 192.0.2.7 198.51.100.1 1 2\r\n",
  "an IPv6 address after TCP4": "PROXY TCP4 2001:db8::7 2001:db8::1 1 2\r\n",
  "a scoped IPv6 address": "PROXY TCP6 fe80::1%eth0 fe80::2 1 2\r\n",
  "a host name as the address": "PROXY TCP4 mail.example 198.51.100.1 1 2\r\n",
  "an octet out of range": "PROXY TCP4 192.0.2.700 198.51.100.1 1 2\r\n",
  "a port out of range": "PROXY TCP4 192.0.2.7 198.51.100.1 65536 2\r\n",
  "missing fields": "PROXY TCP4 192.0.2.7\r\n",
  "two spaces": "PROXY TCP4  192.0.2.7 198.51.100.1 1 2\r\n",
  "a bare LF": `PROXY TCP4 192.0.2.7 198.51.100.1 1 2\nEHLO x\r\n`,
  "no end of line": `PROXY TCP4 ${"1".repeat(200)}`,
  "version 3": v2({ versionCommand: 0x31 }),
  "an unknown command": v2({ versionCommand: 0x2f }),
  datagrams: v2({ family: 0x12, body: Buffer.alloc(12) }),
  "truncated addresses": v2({ body: Buffer.alloc(8) }),
  "an excessive length": v2({ length: 65_535 }),
})) {
  test(`rejects ${name}`, () => {
    assert.equal(readProxyHeader(Buffer.from(header as string)).state, "bad");
  });
}

test("parses every valid header, requests more data for every prefix of it, and does not consume the bytes after it", () => {
  const written = fc.oneof(
    fc
      .tuple(ipv4, ipv4, port, port)
      .map(([a, b, p, q]) => ({ bytes: Buffer.from(`PROXY TCP4 ${a} ${b} ${p} ${q}\r\n`), ip: a, port: p })),
    fc.tuple(ipv6, port).map(([groups, p]) => {
      const ip = groups.map((group) => group.toString(16)).join(":");
      return { bytes: Buffer.from(`PROXY TCP6 ${ip} 2001:db8::1 ${p} 25\r\n`), ip, port: p };
    }),
    fc.tuple(ipv4, port, fc.uint8Array({ maxLength: 60 })).map(([ip, p, tlv]) => {
      const body = Buffer.concat([
        Buffer.from(ip.split(".").map(Number)),
        Buffer.alloc(4),
        Buffer.from([p >> 8, p & 255, 0, 25]),
        tlv,
      ]);
      return { bytes: v2({ body }), ip, port: p };
    }),
    fc.tuple(ipv6, port, fc.uint8Array({ maxLength: 60 })).map(([groups, p, tlv]) => {
      const source = Buffer.from(groups.map((group) => group.toString(16).padStart(4, "0")).join(""), "hex");
      const body = Buffer.concat([source, Buffer.alloc(16), Buffer.from([p >> 8, p & 255, 0, 25]), tlv]);
      return { bytes: v2({ family: 0x21, body }), ip: groups.map((group) => group.toString(16)).join(":"), port: p };
    }),
  );
  fc.assert(
    fc.property(written, fc.uint8Array({ maxLength: 40 }), fc.nat(), ({ bytes, ip, port: from }, rest, cut) => {
      assert.deepEqual(readProxyHeader(Buffer.concat([bytes, rest])), {
        state: "whole",
        length: bytes.length,
        client: { ip, port: from },
      });
      assert.deepEqual(readProxyHeader(bytes.subarray(0, cut % bytes.length)), { state: "short" });
    }),
  );
});

test("parses arbitrary bytes without throwing, and returns only valid addresses", () => {
  const hostile = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc.uint8Array({ maxLength: 300 }).map((tail) => Buffer.concat([SIGNATURE, tail])),
    fc.string({ maxLength: 150 }).map((tail) => Buffer.from(`PROXY TCP4 ${tail}\r\n`)),
    fc
      .tuple(fc.constantFrom(0x20, 0x21), fc.integer({ min: 0, max: 255 }), fc.uint8Array({ maxLength: 80 }))
      .map(([versionCommand, family, body]) => v2({ versionCommand, family, body: Buffer.from(body) })),
  );
  fc.assert(
    fc.property(hostile, (bytes) => {
      const header = readProxyHeader(bytes);
      if (header.state !== "whole") return;
      assert.ok(header.length <= bytes.length);
      if (header.client !== undefined) assert.ok(isIP(header.client.ip) > 0 && header.client.port <= 65_535);
    }),
    { numRuns: 2000 },
  );
});
