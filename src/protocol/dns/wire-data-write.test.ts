import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { addressOctets } from "./address-octets.ts";
import { recordOf } from "./dns.testing.ts";
import { readData, type RecordData } from "./record-data.ts";
import { RECORD_TYPES, type RecordType } from "./record-types.ts";
import { splitWords } from "./tokens.ts";
import { writeRecordData } from "./wire-data-write.ts";
import { dataFromWire } from "./wire-data.ts";
import { createWireWriter } from "./wire-writer.ts";

function dataToWire(type: RecordType, data: RecordData): Buffer {
  const out = createWireWriter();
  writeRecordData(type, data, out);
  return out.finish();
}

const wire = (type: RecordType, text: string) =>
  dataToWire(type, readData(type, splitWords(text), { apex: "example.com" })).toString("hex");

describe("record data in wire format", () => {
  test("is read back as the same data", () => {
    const types = RECORD_TYPES.filter((type) => !["LOC", "HTTPS", "SVCB"].includes(type));
    fc.assert(
      fc.property(recordOf(types), ({ type, data }) =>
        assert.deepEqual(dataFromWire(type, dataToWire(type, data)), data),
      ),
      { numRuns: 500 },
    );
  });

  test("of LOC, HTTPS and SVCB can always be written", () => {
    fc.assert(
      fc.property(recordOf(["LOC", "HTTPS", "SVCB"]), ({ type, data }) => void dataToWire(type, data)),
      { numRuns: 300 },
    );
  });

  // Vectors from RFC 9460 appendix D.
  const vectors: [RecordType, string, string][] = [
    ["HTTPS", "0 foo.example.com", "000003666f6f076578616d706c6503636f6d00"],
    ["SVCB", "1 .", "000100"],
    ["SVCB", "16 foo.example.com port=53", "001003666f6f076578616d706c6503636f6d00000300020035"],
    ["SVCB", "1 foo.example.com key667=hello", "000103666f6f076578616d706c6503636f6d00029b000568656c6c6f"],
    [
      "SVCB",
      '1 foo.example.com key667="hello\\210qoo"',
      "000103666f6f076578616d706c6503636f6d00029b000968656c6c6fd2716f6f",
    ],
    [
      "SVCB",
      '1 foo.example.com ipv6hint="2001:db8::1,2001:db8::53:1"',
      "000103666f6f076578616d706c6503636f6d000006002020010db800000000000000000000000120010db8000000000000000000530001",
    ],
    [
      "SVCB",
      '16 foo.example.org alpn="h2,h3-19" mandatory="ipv4hint,alpn" ipv4hint="192.0.2.1"',
      "001003666f6f076578616d706c65036f7267000000000400010004000100090268320568332d313900040004c0000201",
    ],
    [
      "SVCB",
      '16 foo.example.org alpn="f\\\\\\\\oo\\\\,bar,h2"',
      "001003666f6f076578616d706c65036f7267000001000c08665c6f6f2c626172026832",
    ],
    // RFC 1876 2, calculated by hand: 2^31 +/- thousandths of an arc second, 10,000,000 - 2400 cm, 3 * 10^3 cm.
    ["LOC", "42 21 54 N 71 06 18 W -24m 30m", "0033161389172dd070be15f000988d20"],
  ];
  for (const [type, text, expected] of vectors) test(`${type} ${text}`, () => assert.equal(wire(type, text), expected));

  test("contains addresses as octets", () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        const octets = addressOctets(address);
        assert.equal(
          new URL(`http://[${octets.toString("hex").match(/.{4}/g)!.join(":")}]`).hostname,
          new URL(`http://[${address}]`).hostname,
        );
      }),
    );
    assert.deepEqual([...addressOctets("192.0.2.255")], [192, 0, 2, 255]);
  });
});

describe("names in a message", () => {
  test("refer to earlier names, never to removed octets", () => {
    const out = createWireWriter();
    out.name("a.example.com", true);
    const length = out.writtenOctets();
    out.name("b.example.com", true);
    assert.equal(out.finish().subarray(length).toString("hex"), "0162c002");
    out.truncate(length);
    out.name("x.b.example.com", true);
    assert.equal(out.finish().subarray(length).toString("hex"), "01780162c002");
    out.name("b.example.com", false);
    assert.equal(out.finish().subarray(-15).toString("latin1"), "\x01b\x07example\x03com\0");
    out.name("b.example.com", true);
    assert.equal(out.finish().subarray(-2).toString("hex"), "c011");
  });

  test("beyond 16,383 octets are written in full", () => {
    const out = createWireWriter();
    out.bytes(Buffer.alloc(0x4000));
    out.name("example.com", true);
    out.name("example.com", true);
    assert.equal(out.writtenOctets(), 0x4000 + 26);
  });
});
