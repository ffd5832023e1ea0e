import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { hostName, recordOf } from "./dns.testing.ts";
import { presentData } from "./record-data.ts";
import { isRecordType } from "./record-types.ts";
import { readZoneFile } from "./zone-file-read.ts";
import { soaLine, zoneFileLine } from "./zone-file-write.ts";

const read = (text: string) => readZoneFile(text, { origin: "example.com" });
const shown = (text: string) => {
  const { records, problems } = read(text);
  assert.deepEqual(problems, []);
  return records.map(({ name, ttl, type, data, opaque }) => [
    name,
    ttl,
    type,
    data && isRecordType(type) ? presentData(type, data) : (opaque?.toString("hex") ?? null),
  ]);
};

describe("a master file", () => {
  test("is read in every syntax that RFC 1035 allows", () => {
    assert.deepEqual(
      shown(`
$TTL 1h30m
$ORIGIN example.com.
@   IN  SOA  ns1 host\\.master ( 2024010101 ; serial
        7200 3600
        1209600 300 ) ; minimum
        NS   ns1
        NS   ns2.example.net.
        MX   10 mail
ns1  300 IN A 192.0.2.1
     IN 400 AAAA 2001:db8::1
www  in  cname  @
*.w  A 192.0.2.9
txt  TXT ( "one ; no comment"
           two "three (3)" ) ; a comment
$ORIGIN sub
host A 192.0.2.3
$ORIGIN .
absolute.example.com A 192.0.2.4
other.example.com. CLASS1 TYPE1 192.0.2.5
`),
      [
        ["example.com", 5400, "SOA", null],
        ["example.com", 5400, "NS", "ns1.example.com"],
        ["example.com", 5400, "NS", "ns2.example.net"],
        ["example.com", 5400, "MX", "10 mail.example.com"],
        ["ns1.example.com", 300, "A", "192.0.2.1"],
        ["ns1.example.com", 400, "AAAA", "2001:db8::1"],
        ["www.example.com", 5400, "CNAME", "example.com"],
        ["*.w.example.com", 5400, "A", "192.0.2.9"],
        ["txt.example.com", 5400, "TXT", '"one ; no comment" "two" "three (3)"'],
        ["host.sub.example.com", 5400, "A", "192.0.2.3"],
        ["absolute.example.com", 5400, "A", "192.0.2.4"],
        ["other.example.com", 5400, "A", "192.0.2.5"],
      ],
    );
  });

  test("without $TTL uses the most recent TTL, and before the first TTL the minimum field of SOA", () => {
    assert.deepEqual(
      shown("a A 192.0.2.1\n").map(([, ttl]) => ttl),
      [undefined],
    );
    assert.deepEqual(
      shown("@ SOA ns1 root 1 2 3 4 900\na A 192.0.2.1\nb 60 A 192.0.2.1\nc A 192.0.2.1\n").map(([, ttl]) => ttl),
      [900, 900, 60, 60],
    );
  });

  test("may have CRLF line endings, a byte order mark, tabs, no trailing newline, or comments only", () => {
    assert.deepEqual(shown("\uFEFF; head\r\na\t60\tIN\tA\t192.0.2.1 ; c\r\n\r\n   ; more\r\nb A 192.0.2.2"), [
      ["a.example.com", 60, "A", "192.0.2.1"],
      ["b.example.com", 60, "A", "192.0.2.2"],
    ]);
    assert.equal(read("a A 192.0.2.1 ; ünder ; all\n").records[0]!.comment, "ünder ; all");
  });

  test("may specify data as octets, for unknown and known types (RFC 3597)", () => {
    assert.deepEqual(shown("a TYPE65280 \\# 3 ab cd01\na A \\# 4 C0000201\na TYPE731 \\# 0\n"), [
      ["a.example.com", undefined, "TYPE65280", "abcd01"],
      ["a.example.com", undefined, "A", "192.0.2.1"],
      ["a.example.com", undefined, "TYPE731", ""],
    ]);
  });

  test("has every invalid line reported and all others read", () => {
    const { records, problems } = read(`
a A 192.0.2.1
b A 192.0.2
c BOGUS x
d CH A 192.0.2.1
$INCLUDE other.zone
$GENERATE 1-3 h$ A 192.0.2.$
$NONSENSE x
e TYPE65280 \\# 4 abcd
f MX mail
g 99999999999 A 192.0.2.1
h
i TXT "open
j A 192.0.2.7
`);
    assert.deepEqual(
      records.map(({ name }) => name),
      ["a.example.com"],
    );
    assert.deepEqual(
      problems.map(({ line }) => line),
      [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13],
    );
    assert.match(problems[0]!.message, /not an IPv4 address/);
    assert.match(problems.at(-1)!.message, /not closed/);
  });

  test("with unbalanced parentheses is reported", () => {
    assert.deepEqual(read("a TXT ( x\n b\n").problems, [{ line: 1, message: "a parenthesis is not closed" }]);
    assert.equal(read("a TXT x )\n").problems[0]!.line, 1);
    assert.deepEqual(
      read("  A 192.0.2.1\n").problems.map(({ line }) => line),
      [1],
    );
  });

  test("is limited in size", () => {
    const { records, problems } = readZoneFile("a A 192.0.2.1\n".repeat(50), { origin: "example.com", maxRecords: 10 });
    assert.equal(records.length, 11);
    assert.match(problems[0]!.message, /more than 10 records/);
    assert.equal(readZoneFile("a A x\n".repeat(50), { origin: "example.com", maxProblems: 5 }).problems.length, 5);
  });

  test("is read back as the same records", () => {
    const entry = fc.record({
      record: recordOf(),
      name: hostName,
      ttl: fc.integer({ min: 1, max: 86_400 }),
      comment: fc.string({ maxLength: 40 }).map((text) => text.replace(/\s+/g, " ").trim()),
    });
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 5 }), (list) => {
        const text =
          soaLine("example.com", { nameServer: "ns1.example.net", serial: 7 }) +
          list.map(({ record, ...rest }) => zoneFileLine({ ...record, ...rest })).join("");
        const { records, problems } = read(text);
        assert.deepEqual(problems, []);
        assert.deepEqual(
          records.slice(1).map(({ name, ttl, type, data, comment }) => ({ name, ttl, type, data, comment })),
          list.map(({ record, name, ttl, comment }) => ({ name, ttl, type: record.type, data: record.data, comment })),
        );
      }),
      { numRuns: 300 },
    );
  });

  test("reads unknown types in the format of RFC 3597 5", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const opaque = Buffer.from(bytes);
        const data = `\\# ${opaque.length} ${opaque.toString("hex")}`;
        assert.deepEqual(read(`x.example.com. 60 IN TYPE65280 ${data}\n`).records[0]!.opaque, opaque);
      }),
    );
  });

  test("is read without throwing, whatever it contains", () => {
    const piece = fc.constantFrom(
      "a",
      " ",
      "\n",
      "IN",
      "A",
      "192.0.2.1",
      "(",
      ")",
      '"',
      ";",
      "\\",
      "\\#",
      "$TTL",
      "$ORIGIN",
      "@",
      ".",
      "60",
      "TXT",
      "SOA",
      "\t",
      "é",
      "\r\n",
      "\\300",
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: "binary" }),
          fc.array(piece, { maxLength: 30 }).map((parts) => parts.join(" ")),
        ),
        (text) => void read(text),
      ),
      { numRuns: 2000 },
    );
  });
});
