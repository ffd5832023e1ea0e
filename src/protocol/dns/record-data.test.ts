import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { checkData, presentData, readData, RecordDataError, type RecordData } from "./record-data.ts";
import { isRecordType, RECORD_TYPES, type RecordType } from "./record-types.ts";
import { recordOf } from "./dns.testing.ts";
import { splitWords } from "./tokens.ts";
import { dataFromWire } from "./wire-data.ts";

const apex = "example.com";
const read = (type: RecordType, text: string) => readData(type, splitWords(text), { apex });
const again = (type: RecordType, text: string) => presentData(type, read(type, text));

describe("record data", () => {
  const forms: [RecordType, string, string?][] = [
    ["A", "192.0.2.1"],
    ["AAAA", "2001:DB8:0:0:0::1", "2001:db8::1"],
    ["CNAME", "WWW.Example.NET.", "www.example.net"],
    ["CNAME", "@", "example.com"],
    ["CNAME", "bücher.example", "xn--bcher-kva.example"],
    ["MX", "10 mail.example.com"],
    ["MX", "0 ."],
    ["NS", "ns1.example.net"],
    ["PTR", "host.example.net"],
    ["TXT", '"v=spf1 -all"'],
    ["TXT", '"a" "b\\"c\\\\" "\\000\\255"'],
    ["TXT", '"a\\;b"', '"a;b"'],
    ["TXT", '"ü"', '"\\195\\188"'],
    ["TXT", '""'],
    ["SRV", "10 5 8806 example.com"],
    ["SRV", "0 0 0 ."],
    [
      "CAA",
      '0 ISSUE "letsencrypt.org; validationmethods=dns-01"',
      '0 issue "letsencrypt.org; validationmethods=dns-01"',
    ],
    ["CERT", "9 1 8 TUlJ Q0Y=", "9 1 8 TUlJQ0Y="],
    ["DNSKEY", "257 3 13 mdsswUyr3DPW132mOi8V9xESWE8jTo0dxCjjnopKl+GqJxpVXckHAeF+KkxLbxILfDLUT0rAK9iUzy1L53eKGQ=="],
    ["DS", `60485 5 1 ${"2B".repeat(20)}`, `60485 5 1 ${"2b".repeat(20)}`],
    [
      "HTTPS",
      '1 . alpn=h3,h2 ipv4hint=127.0.0.1 ipv6hint="::1"',
      '1 . alpn="h3,h2" ipv4hint="127.0.0.1" ipv6hint="::1"',
    ],
    ["SVCB", "0 svc.example.net"],
    ["SVCB", '16 foo.example.org alpn="f\\\\\\\\oo\\\\,bar,h2" key667="hello\\210qoo"'],
    ["LOC", "37 46 46 N 122 23 35 W 0m 100m 0m 0m"],
    ["LOC", "42 21 54.5 n 71 06 18 w -24m 30m", "42 21 54.5 N 71 6 18 W -24m 30m 10000m 10m"],
    ["LOC", "42 N 71 W 0", "42 0 0 N 71 0 0 W 0m 1m 10000m 10m"],
    ["NAPTR", '100 10 "u" "E2U+sip" "!^.*$!sip:info@example.com!" .'],
    ["NAPTR", '100 10 "s" "" "" _sip._udp.example.com'],
    ["OPENPGPKEY", "mQENBFVHm5sBCADa"],
    ["SSHFP", `4 2 ${"ab".repeat(32)}`],
    ["TLSA", `3 1 1 ${"ab".repeat(32)}`],
    ["SMIMEA", `3 0 0 ${"ab".repeat(9)}`],
    ["URI", '10 1 "ftp://ftp1.example.com/public"'],
  ];
  for (const [type, text, normal = text] of forms) {
    test(`${type} ${text}`, () => {
      assert.equal(again(type, text), normal);
      assert.equal(again(type, normal), normal);
    });
  }

  test("has a layout for every type", () =>
    assert.deepEqual([...new Set(forms.map(([type]) => type))].sort(), [...RECORD_TYPES].sort()));

  test("names end with a dot where the master file format requires it", () => {
    assert.equal(presentData("MX", read("MX", "10 mail.example.net"), { absolute: true }), "10 mail.example.net.");
    assert.equal(presentData("SRV", read("SRV", "0 0 0 ."), { absolute: true }), "0 0 0 .");
  });

  test("a long text is split at 255 octets", () => {
    const { strings } = checkData("TXT", { strings: ["x".repeat(600)] });
    assert.deepEqual(
      (strings as string[]).map(({ length }) => length),
      [255, 255, 90],
    );
  });

  const wrong: [RecordType, string, string][] = [
    ["A", "1.2.3", "address"],
    ["A", "1.2.3.4 5", "address"],
    ["A", "", "address"],
    ["AAAA", "fe80::1%eth0", "address"],
    ["CNAME", "192.0.2.1", "target"],
    ["CNAME", ".", "target"],
    ["CNAME", "a..b", "target"],
    ["CNAME", `${"a".repeat(64)}.example`, "target"],
    ["CNAME", `${"a.".repeat(130)}example`, "target"],
    ["CNAME", "a\\.b.example", "target"],
    ["MX", "10 2001:db8::1", "target"],
    ["MX", "65536 mail.example", "priority"],
    ["MX", "-1 mail.example", "priority"],
    ["MX", "ten mail.example", "priority"],
    ["MX", "10 .", "priority"],
    ["MX", "10", "target"],
    ["NS", "*.example.net", "target"],
    ["SRV", "1 2 x.example y", "port"],
    ["CAA", '256 issue "x"', "flags"],
    ["CAA", '0 is_sue "x"', "tag"],
    ["DS", "1 8 2 abcd", "digest"],
    ["DS", "1 8 9 abc", "digest"],
    ["DNSKEY", "257 4 13 AAAA", "protocol"],
    ["CERT", "1 1 1 a*b", "certificate"],
    ["HTTPS", "0 . alpn=h2", "value"],
    ["HTTPS", "1 . alpn=h2 alpn=h3", "value"],
    ["HTTPS", "1 . port=70000", "value"],
    ["HTTPS", "1 . colour=red", "value"],
    ["LOC", "91 N 0 E 0m", "location"],
    ["LOC", "0 0 0 X", "location"],
    ["NAPTR", '1 1 "u" "" "!a!b!" x.example', "replacement"],
    ["TXT", `${'"aaaaaaaaaaaaaaa" '.repeat(257)}`, "strings"],
    ["URI", '1 1 ""', "target"],
  ];
  for (const [type, text, field] of wrong) {
    test(`rejects ${type} ${text.slice(0, 50)}`, () => {
      assert.throws(
        () => read(type, text),
        (err) => {
          assert.ok(err instanceof RecordDataError, String(err));
          assert.equal(err.field, field);
          return true;
        },
      );
    });
  }

  test("record data survives a round trip through presentation format, including relative names", () => {
    fc.assert(
      fc.property(recordOf(), ({ type, data }) => {
        assert.deepEqual(read(type, presentData(type, data)), data);
        assert.deepEqual(
          readData(type, splitWords(presentData(type, data, { absolute: true })), { apex, origin: "other.example" }),
          data,
        );
        assert.deepEqual(checkData(type, data), data);
      }),
      { numRuns: 500 },
    );
  });

  test("any text is either valid data or a DnsSyntaxError", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...RECORD_TYPES),
        fc.oneof(
          fc.string(),
          fc.string({ unit: "binary" }),
          fc
            .array(fc.constantFrom("10", "1", '"', "\\", "a.b", ".", "\\#", "=", "::1", "N"))
            .map((parts) => parts.join(" ")),
        ),
        (type, text) => {
          let data: RecordData;
          try {
            data = read(type, text);
          } catch (err) {
            assert.ok(err instanceof Error && err.name === "DnsSyntaxError", String(err));
            return;
          }
          assert.deepEqual(read(type, presentData(type, data)), data);
        },
      ),
      { numRuns: 1000 },
    );
  });
});

describe("data in wire format", () => {
  test("is read", () => {
    assert.deepEqual(dataFromWire("A", Buffer.from("c0000201", "hex")), { address: "192.0.2.1" });
    assert.deepEqual(dataFromWire("AAAA", Buffer.from("20010db8000000000000000000000001", "hex")), {
      address: "2001:db8::1",
    });
    assert.deepEqual(dataFromWire("MX", Buffer.from("000a046d61696c0765786d61706c6500", "hex")), {
      priority: 10,
      target: "mail.exmaple",
    });
    assert.deepEqual(dataFromWire("TXT", Buffer.from("0161026263", "hex")), { strings: ["a", "bc"] });
    assert.deepEqual(dataFromWire("CAA", Buffer.from("000569737375656578", "hex")), {
      flags: 0,
      tag: "issue",
      value: "ex",
    });
  });

  test("is rejected if it is too short or too long", () => {
    for (const hex of ["c00002", "c000020100", ""])
      assert.throws(() => dataFromWire("A", Buffer.from(hex, "hex")), { name: "DnsSyntaxError" }, hex);
    assert.throws(() => dataFromWire("MX", Buffer.from("000ac00c", "hex")), { name: "DnsSyntaxError" });
  });

  test("never crashes the reader", () => {
    fc.assert(
      fc.property(fc.constantFrom(...RECORD_TYPES), fc.uint8Array({ maxLength: 60 }), (type, bytes) => {
        try {
          assert.ok(isRecordType(type) && dataFromWire(type, Buffer.from(bytes)));
        } catch (err) {
          assert.equal((err as Error).name, "DnsSyntaxError", String(err));
        }
      }),
      { numRuns: 1000 },
    );
  });
});
