import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { hostName, recordOf } from "./dns.testing.ts";
import { HEADER_FLAG, type DnsMessage, readDnsMessage, type WireRecord, writeMessage } from "./message.ts";
import { draftOf, numberOf, readTestMessage, testQuery } from "./message.testing.ts";
import { RECORD_TYPES, typeNumber } from "./record-types.ts";
import { verifyReply } from "./tsig.ts";
import { readRecordData, type WireType } from "./wire-data.ts";
import { writeRecordData } from "./wire-data-write.ts";
import { MalformedMessage, readName } from "./wire-reader.ts";

const READABLE = RECORD_TYPES.filter((type) => !["LOC", "HTTPS", "SVCB"].includes(type)) as Exclude<WireType, "SOA">[];
const ttl = fc.nat(0x7fff_ffff);
const soa = fc
  .record({ primary: hostName, mailbox: hostName, ttl, numbers: fc.array(fc.nat(), { minLength: 5, maxLength: 5 }) })
  .map(({ numbers: [serial, refresh, retry, expire, minimum], ttl: seconds, ...hosts }) => ({
    type: "SOA" as const,
    ttl: seconds,
    data: { ...hosts, serial, refresh, retry, expire, minimum },
  }));
const record = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(recordOf(READABLE), ttl).map(([one, seconds]) => ({ ...one, ttl: seconds })) },
  { weight: 1, arbitrary: soa },
);
const records = fc.array(fc.tuple(hostName, record), { maxLength: 6 });
const message = fc.record({
  id: fc.nat(0xffff),
  flags: fc.nat(0xffff),
  question: fc.tuple(hostName, fc.constantFrom(...READABLE)),
  sections: fc.tuple(records, records, records),
});

/** Converts the data: a draft contains the data of SOA and TXT in a different form. */
const draft = (name: string, { type, ttl: seconds, data }: { type: string; ttl: number; data: object }): WireRecord =>
  draftOf({ name, type, ttl: seconds, data: type === "TXT" ? (data as { strings: string[] }).strings : data });

describe("a message", () => {
  test("is read back as it was written", () => {
    fc.assert(
      fc.property(message, ({ id, flags, question: [name, type], sections }) => {
        const [answers, authorities, additionals] = sections.map((section) =>
          section.map(([owner, one]) => draft(owner, one)),
        );
        const bytes = writeMessage({
          id,
          flags,
          questions: [{ name, type: typeNumber(type) }],
          answers,
          authorities,
          additionals,
        });
        const read = readDnsMessage(bytes);
        assert.deepEqual([read.header.id, read.header.flags], [id, flags]);
        assert.deepEqual(read.questions, [{ name, type: typeNumber(type), class: 1 }]);
        for (const [index, section] of [read.answers, read.authorities, read.additionals].entries())
          assert.deepEqual(
            section.map((one, at) => ({
              name: one.name,
              ttl: one.ttl,
              class: one.class,
              type: one.type,
              data: readRecordData(bytes, sections[index]![at]![1].type as WireType, one),
            })),
            sections[index]!.map(([owner, one]) => ({
              name: owner,
              ttl: one.ttl,
              class: 1,
              type: typeNumber(one.type),
              data: { ...one.data },
            })),
          );
      }),
      { numRuns: 500 },
    );
  });

  const label = fc.uint8Array({ minLength: 1, maxLength: 63 });
  test("preserves every octet of a name except upper case", () => {
    fc.assert(
      fc.property(fc.array(label, { minLength: 1, maxLength: 3 }), (labels) => {
        const wire = Buffer.concat([...labels.flatMap((one) => [Buffer.of(one.length), one]), Buffer.of(0)]);
        const { name, end } = readName(wire, 0);
        assert.equal(end, wire.length);
        const written = writeMessage({ id: 0, flags: 0, questions: [{ name, type: 1 }] }).subarray(12, -4);
        assert.equal(written.toString("latin1"), lowerAscii(wire));
        assert.equal(name.split(".").length, labels.length);
      }),
    );
  });

  test("combines the response code from its header and the OPT record (RFC 6891 6.1.3)", () => {
    const opt = { name: "", type: numberOf("OPT"), class: 1232, ttl: 0x0100_0000 };
    const bytes = testQuery({ name: "example.com", type: "A", flags: HEADER_FLAG.response, additionals: [opt] });
    assert.equal(readDnsMessage(bytes).rcode, 16);
    assert.equal(readTestMessage(bytes).rcode, "BADVERS");
  });
});

// On the wire, toLowerCase would only change length octets that are letters (65 and above), but a label has at most 63
// octets.
const lowerAscii = (wire: Buffer) => wire.toString("latin1").replace(/[A-Z]/g, (letter) => letter.toLowerCase());

describe("compressed names", () => {
  /** A header with one question and one answer, then the question's name `example.com`. */
  const start = Buffer.concat([
    Buffer.from("000080000001000100000000", "hex"),
    Buffer.from("\x07example\x03com\0", "latin1"),
    Buffer.from([0, 1, 0, 1]),
  ]);
  const answer = (owner: number[], data: number[], type = 5) =>
    Buffer.concat([start, Buffer.from([...owner, 0, type, 0, 1, 0, 0, 0, 60, 0, data.length, ...data])]);
  const read = (bytes: Buffer) => readTestMessage(bytes).answers[0]!;
  const WWW = [3, 0x77, 0x77, 0x77];

  test("are resolved in owners and in data", () => {
    const found = read(answer([...WWW, 0xc0, 12], [1, 0x78, 0xc0, start.length]));
    assert.deepEqual([found.name, found.data], ["www.example.com", { target: "x.www.example.com" }]);
  });

  const refused: [string, number[], number[]][] = [
    ["a pointer to itself", [0xc0, start.length], [0]],
    ["a forward pointer", [0xc0, start.length + 12], [0xc0, 12]],
    ["a pointer into its own preceding labels", [...WWW, 0xc0, start.length], [0]],
    ["a pointer into the header", [0xc0, 4], [0]],
    ["a pointer beyond the message", [0xff, 0xff], [0]],
    ["a truncated pointer in the data", [0xc0, 12], [0xc0]],
    ["a label of an unknown type", [0x40, 0], [0]],
    ["a name that extends beyond the data", [0xc0, 12], [1]],
    ["octets after the name in the data", [0xc0, 12], [0xc0, 12, 0]],
  ];
  for (const [what, owner, data] of refused)
    test(`${what} is malformed`, () => assert.throws(() => read(answer(owner, data)), MalformedMessage));

  test("a string that exceeds its record data is malformed", () => {
    const bytes = Buffer.concat([answer([0xc0, 12], [5], 16), Buffer.from("more octets")]);
    assert.throws(() => read(bytes), MalformedMessage);
  });

  /**
   * `count` names starting at offset 12: the first is a label, each other one is `label` followed by a pointer to the
   * previous name.
   */
  function chain(count: number, label: number[]) {
    const names = [Buffer.from([1, 0x61, 0])];
    let at = 12;
    for (let index = 1; index < count; index++) {
      const target = at;
      at += names.at(-1)!.length;
      names.push(Buffer.from([...label, 0xc0 | (target >> 8), target & 0xff]));
    }
    return { bytes: Buffer.concat([Buffer.alloc(12), ...names]), last: at };
  }

  test("have at most 127 labels, each possibly behind a pointer", () => {
    const longest = chain(127, [1, 0x61]);
    assert.equal(readName(longest.bytes, longest.last).name.length, 2 * 127 - 1);
    const longer = chain(128, [1, 0x61]);
    assert.throws(() => readName(longer.bytes, longer.last), MalformedMessage);
  });

  test("may have at most 127 pointers, even without labels between them", () => {
    const most = chain(128, []);
    assert.equal(readName(most.bytes, most.last).name, "a");
    const more = chain(129, []);
    assert.throws(() => readName(more.bytes, more.last), MalformedMessage);
  });
});

describe("responses of Knot DNS", () => {
  const read = (hex: string) => {
    const { rcode, aa, answers, authorities, additionals } = readTestMessage(Buffer.from(hex, "hex"));
    const lines = [answers, authorities, additionals].map((section) =>
      section.map(({ name, type, ttl: seconds, data }) => [name, seconds, type, ...Object.values(data)].join(" ")),
    );
    return { rcode, aa, lines };
  };

  test("contain MX records and the addresses of their hosts", () =>
    assert.deepEqual(
      read(
        "0001840000010002000000040473686f70076578616d706c6503636f6d00000f0001c00c000f00010000012c0008000a036d7831c00cc00c000f00010000012c000d0014036d7832046d61696cc00cc030000100010000012c0004c0000201c030001c00010000012c001000000000000000000000ffffc0000201c030001c00010000012c001020010db8000000000000000000000001c044000100010000012c0004c0000202",
      ),
      {
        rcode: "NOERROR",
        aa: true,
        lines: [
          ["shop.example.com 300 MX 10 mx1.shop.example.com", "shop.example.com 300 MX 20 mx2.mail.shop.example.com"],
          [],
          [
            "mx1.shop.example.com 300 A 192.0.2.1",
            "mx1.shop.example.com 300 AAAA ::ffff:c000:201",
            "mx1.shop.example.com 300 AAAA 2001:db8::1",
            "mx2.mail.shop.example.com 300 A 192.0.2.2",
          ],
        ],
      },
    ));

  test("contain an alias and its target's records", () =>
    assert.deepEqual(
      read(
        "000184000001000200000000037777770473686f70076578616d706c6503636f6d0000010001c00c000500010000012c000603776562c010c032000100010000012c0004c0000250",
      ).lines[0],
      ["www.shop.example.com 300 CNAME web.shop.example.com", "web.shop.example.com 300 A 192.0.2.80"],
    ));

  test("contain the SOA for a name that does not exist", () =>
    assert.deepEqual(
      read(
        "000184030001000000010000046e6f6e650473686f70076578616d706c6503636f6d0000010001c011000600010000003c0027036e7331c0110a686f73746d6173746572c0110000000100000e1000000258000151800000003c",
      ),
      {
        rcode: "NXDOMAIN",
        aa: true,
        lines: [
          [],
          ["shop.example.com 60 SOA ns1.shop.example.com hostmaster.shop.example.com 1 3600 600 86400 60"],
          [],
        ],
      },
    ));
});

describe("arbitrary octets", () => {
  const seeds = [
    writeMessage({
      id: 1,
      flags: HEADER_FLAG.response,
      questions: [{ name: "example.com", type: typeNumber("MX") }],
      answers: [
        {
          name: "example.com",
          type: typeNumber("MX"),
          ttl: 60,
          write: (out) => (out.u16(10), out.name("mx.example.com", true)),
        },
        ...(["TXT", "CAA", "SRV", "NAPTR"] as const).map((type) => ({
          name: "a.example.com",
          type: typeNumber(type),
          ttl: 1,
          write: (out: Parameters<typeof writeRecordData>[2]) =>
            writeRecordData(type, fc.sample(recordOf([type]), { seed: 1, numRuns: 1 })[0]!.data, out),
        })),
      ],
      additionals: [
        {
          name: "key.example",
          type: numberOf("TSIG"),
          class: 255,
          ttl: 0,
          write: (out) => (out.name("hmac-sha256", false), out.bytes(Buffer.alloc(60, 1))),
        },
      ],
    }),
    Buffer.from("000080000001000100000000", "hex"),
  ];
  const changes = fc.array(fc.tuple(fc.nat(200), fc.nat(255), fc.constantFrom("set", "insert", "cut")), {
    minLength: 1,
    maxLength: 5,
  });
  const changed = fc.tuple(fc.constantFrom(...seeds), changes).map(([seed, list]) =>
    list.reduce<Buffer>((bytes, [place, value, kind]) => {
      const at = place % (bytes.length + 1);
      if (kind === "cut") return bytes.subarray(0, at);
      return Buffer.concat([
        bytes.subarray(0, at),
        Buffer.of(value),
        bytes.subarray(kind === "insert" ? at : Math.min(at + 1, bytes.length)),
      ]);
    }, seed),
  );
  const octets = fc.oneof(
    { weight: 3, arbitrary: changed },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)) },
  );

  /** Rethrows any error except MalformedMessage. */
  function orMalformed<Result>(work: () => Result): Result | undefined {
    try {
      return work();
    } catch (err) {
      if (!(err instanceof MalformedMessage)) throw err;
      return undefined;
    }
  }

  test("are either read, including data and signature, or rejected as malformed", () => {
    fc.assert(
      fc.property(octets, (bytes) => {
        const read: DnsMessage | undefined = orMalformed(() => readDnsMessage(bytes));
        for (const one of [...(read?.answers ?? []), ...(read?.additionals ?? [])])
          for (const type of [...READABLE, "SOA"] as const) orMalformed(() => readRecordData(bytes, type, one));
        const key = { name: "key.example", algorithm: "hmac-sha256" as const, secret: Buffer.alloc(32) };
        orMalformed(() => verifyReply(bytes, key, Buffer.alloc(32), 0));
      }),
      { numRuns: 20_000 },
    );
  });
});
