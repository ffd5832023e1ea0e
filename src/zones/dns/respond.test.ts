import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { createManualClock, silentLog } from "../../kernel/index.ts";
import { HEADER_FLAG, type WireRecord, UDP_PAYLOAD } from "../../protocol/dns/index.ts";
import { numberOf, readTestMessage, testQuery } from "../../protocol/dns/message.testing.ts";
import { answerQuestion } from "./answer.ts";
import { EXAMPLE, zonesOf } from "./dns.testing.ts";
import { createFlatten } from "./flatten.ts";
import { createRespond } from "./respond.ts";

const clock = createManualClock();
const zones = zonesOf({ "example.com": EXAMPLE });
const parts = { zones, flatten: createFlatten({ zones, clock }) };
const respond = createRespond({ clock, log: silentLog, answer: (name, type) => answerQuestion(parts, name, type) });

const DNSSEC_OK = 0x8000;
const opt = (version: number, payload = 1232): WireRecord => ({
  name: ".",
  type: numberOf("OPT"),
  class: payload,
  ttl: (version << 16) | DNSSEC_OK,
});
const query = (name = "example.com", type = "A", additionals: WireRecord[] = []) =>
  testQuery({ id: 0x1234, flags: HEADER_FLAG.recursionDesired, name, type, additionals });
const header = async (message: Buffer) => {
  const reply = await respond(message, "udp");
  return (
    reply && {
      id: reply.readUInt16BE(0),
      flags: reply.readUInt16BE(2),
      counts: [4, 6, 8, 10].map((at) => reply.readUInt16BE(at)),
      length: reply.length,
    }
  );
};
const rcode = async (message: Buffer) => {
  const found = await header(message);
  return found && found.flags & 15;
};

const changed = (message: Buffer, change: (copy: Buffer) => void) => {
  const copy = Buffer.from(message);
  change(copy);
  return copy;
};

describe("a response", () => {
  test("keeps the id and RD, and never sets RA", async () => {
    const found = await header(query());
    assert.equal(found!.id, 0x1234);
    assert.equal(found!.flags & 0x0180, 0x0100);
  });

  test("is not sent for a response, nor for a message without a header", async () => {
    assert.equal(
      await respond(
        changed(query(), (copy) => (copy[2]! |= 0x80)),
        "udp",
      ),
      undefined,
    );
    for (let length = 0; length < 12; length++)
      assert.equal(await respond(query().subarray(0, length), "udp"), undefined);
  });

  test("is NOTIMP for every opcode except QUERY", async () => {
    for (let opcode = 1; opcode < 16; opcode++) {
      const found = await header(changed(query(), (copy) => (copy[2] = opcode << 3)));
      assert.deepEqual([found!.flags & 15, (found!.flags >> 11) & 15, found!.length], [4, opcode, 12]);
    }
  });

  test("is FORMERR for a malformed query", async () => {
    const whole = query("example.com", "A", [opt(0)]);
    for (let length = 12; length < whole.length; length++)
      assert.equal(await rcode(whole.subarray(0, length)), 1, `truncated to ${length}`);
    assert.equal(await rcode(Buffer.concat([whole, Buffer.from([0])])), 1, "trailing octets");
    for (const questions of [0, 2])
      assert.equal(
        await rcode(changed(query(), (copy) => copy.writeUInt16BE(questions, 4))),
        1,
        `${questions} questions`,
      );
    assert.equal(await rcode(query("example.com", "A", [opt(0), opt(0)])), 1, "two OPT records");
    assert.equal(
      await rcode(changed(query(), (copy) => copy.writeUInt16BE(0xc00c, 12))),
      1,
      "a name that points to itself",
    );
    assert.equal(await rcode(query("example.com", "OPT")), 1);
  });

  test("is BADVERS with our version for EDNS 1, and FORMERR for errors in EDNS 0", async () => {
    const reply = readTestMessage((await respond(query("example.com", "A", [opt(1)]), "udp"))!);
    const found = reply.additionals[0]!;
    assert.deepEqual(
      [found.type, found.ttl >>> 24, (found.ttl >>> 16) & 255, found.class, reply.flags & 15, reply.rcode],
      ["OPT", 1, 0, UDP_PAYLOAD, 0, "BADVERS"],
    );
  });

  test("has OPT if and only if the query has it, and copies DO", async () => {
    const withOpt = readTestMessage((await respond(query("example.com", "MX", [opt(0)]), "udp"))!);
    assert.deepEqual(
      withOpt.additionals.filter(({ type }) => type === "OPT").map(({ ttl }) => ttl & DNSSEC_OK),
      [DNSSEC_OK],
    );
    assert.deepEqual(readTestMessage((await respond(query(), "udp"))!).additionals, []);
  });

  test("refuses transfers, other classes, and messages signed with an unknown key", async () => {
    for (const type of ["AXFR", "IXFR", "TSIG", "TKEY"]) assert.equal(await rcode(query("example.com", type)), 5, type);
    const chaos = testQuery({ name: "version.bind", type: "TXT", class: 3 });
    assert.equal(await rcode(chaos), 5);
    assert.equal(await rcode(changed(query(), (copy) => copy.writeUInt16BE(255, copy.length - 2))), 5, "class ANY");
    assert.equal(
      await rcode(
        query("example.com", "A", [
          {
            name: "key",
            type: numberOf("TSIG"),
            class: 255,
            ttl: 0,
            write: (out) => out.bytes(Buffer.alloc(20)),
          },
        ]),
      ),
      9,
    );
  });

  test("preserves a dot within a label and unusual octets", async () => {
    const label = Buffer.from("mx1.example", "latin1");
    const odd = (labels: Buffer[]) =>
      Buffer.concat([
        query().subarray(0, 12),
        ...labels.flatMap((one) => [Buffer.from([one.length]), one]),
        Buffer.from([0, 0, 1, 0, 1]),
      ]);
    const dotted = odd([label, Buffer.from("com")]);
    assert.equal(await rcode(dotted), 5, "mx1.example is one label: the name is in the zone com");
    const strange = odd([Buffer.from([0, 255, 46, 92, 0xc4]), Buffer.from("Example"), Buffer.from("com")]);
    const reply = (await respond(strange, "udp"))!;
    assert.equal(reply[3]! & 15, 3);
    assert.deepEqual(reply.subarray(12, strange.length), strange.subarray(12));
  });

  test("is SERVFAIL if the records cannot be read, with a rate-limited log line", async () => {
    const lines: string[] = [];
    const log = { ...silentLog, error: (_: unknown, line: string) => void lines.push(line) } as never;
    const failing = createRespond({ clock, log, answer: () => Promise.reject(new Error("disk")) });
    for (let time = 0; time < 3; time++) assert.equal((await failing(query(), "udp"))![3]! & 15, 2);
    clock.advance(20_000);
    await failing(query(), "udp");
    assert.equal(lines.length, 2);
  });
});

describe("arbitrary input", () => {
  const seeds = [
    query("www.example.com", "A", [opt(0)]),
    query("large.example.com", "TXT"),
    query("q.alias.example.com", "MX", [opt(0, 4096)]),
    query("x.sub.example.com", "ANY"),
    query("apex.example", "A"),
  ];
  const mutation = fc.record({
    at: fc.nat(100),
    value: fc.integer({ min: 0, max: 255 }),
    kind: fc.constantFrom("set", "insert", "cut", "double"),
  });
  const mutated = fc
    .tuple(fc.constantFrom(...seeds), fc.array(mutation, { minLength: 1, maxLength: 6 }))
    .map(([seed, mutations]) =>
      mutations.reduce((message, { at, value, kind }) => {
        const place = at % (message.length + 1);
        if (kind === "set") return changed(message, (copy) => (copy[place % Math.max(1, copy.length)] = value));
        if (kind === "insert")
          return Buffer.concat([message.subarray(0, place), Buffer.from([value]), message.subarray(place)]);
        return kind === "cut"
          ? message.subarray(0, place)
          : Buffer.concat([message.subarray(0, place), message.subarray(0, place)]);
      }, seed as Buffer),
    );

  test("is answered in bounded time with a readable message, or not at all", async () => {
    let slowest = 0;
    await fc.assert(
      fc.asyncProperty(mutated, async (message) => {
        const start = performance.now();
        const reply = await respond(message, "udp");
        slowest = Math.max(slowest, performance.now() - start);
        if (reply === undefined) return;
        assert.equal(reply.readUInt16BE(0), message.readUInt16BE(0));
        assert.equal(reply[2]! & 0x80, 0x80);
        assert(reply.length <= 1232);
        if (reply.length > 12) readTestMessage(reply);
      }),
      { numRuns: 50_000 },
    );
    assert(slowest < 30_000, `one response took ${slowest} ms`);
  });

  test("of random octets is handled in the same way", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 600 }),
        async (octets) => void (await respond(Buffer.from(octets), "tcp")),
      ),
      { numRuns: 5000 },
    );
  });
});
