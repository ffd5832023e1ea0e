import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createManualClock, silentLog } from "../../kernel/index.ts";
import { optRecord } from "../../protocol/dns/index.ts";
import { type ReadTestRecord, readTestMessage, testQuery } from "../../protocol/dns/message.testing.ts";
import { answerQuestion } from "./answer.ts";
import { EXAMPLE, zonesOf } from "./dns.testing.ts";
import type { LookUpAddresses } from "./address-cache.ts";
import { createFlatten } from "./flatten.ts";
import { createRespond } from "./respond.ts";

const FILES = {
  "example.com": EXAMPLE,
  "child.example.com": "@ A 192.0.2.99\n",
  "apex.example": "@ CNAME www.example.com.\n@ MX 10 mx.example.net.\n",
  "outside.example": "@ CNAME cdn.example.net.\n",
};

function responder(lookUp?: LookUpAddresses, files: Record<string, string> = FILES) {
  const clock = createManualClock(1_000_000);
  const zones = zonesOf(files);
  const parts = { zones, flatten: createFlatten({ zones, clock, lookUp }) };
  return createRespond({ clock, log: silentLog, answer: (name, type) => answerQuestion(parts, name, type) });
}

async function ask(
  name: string,
  type: string,
  { respond = responder(), over = "tcp" as "udp" | "tcp", payload = undefined as number | undefined, flags = 0 } = {},
) {
  const additionals = payload === undefined ? [] : [optRecord(payload)];
  const bytes = await respond(testQuery({ name, type, flags, additionals }), over);
  assert(bytes, "expected a response");
  const reply = readTestMessage(bytes);
  const show = (list: ReadTestRecord[]) =>
    list
      .filter(({ type: kind }) => kind !== "OPT")
      .map((record) => `${record.name} ${record.ttl} ${record.type} ${text(record.data)}`);
  return {
    rcode: reply.rcode,
    aa: reply.aa,
    tc: reply.tc,
    answer: show(reply.answers),
    authority: show(reply.authorities),
    additional: show(reply.additionals),
    bytes,
  };
}

const text = (data: ReadTestRecord["data"]) =>
  typeof data === "string"
    ? data
    : Object.values(data)
        .map((value) => (Array.isArray(value) ? value.join("|") : String(value)))
        .join(" ");

const soa = (zone: string, ttl = 300) => [
  `${zone} ${ttl} SOA ns1.reelpost.example hostmaster.${zone} 2026010203 10000 2400 604800 300`,
];

describe("an authoritative answer", () => {
  test("contains the records and the addresses of their targets", async () => {
    const { rcode, aa, answer, authority, additional } = await ask("example.com", "MX");
    assert.deepEqual(
      { rcode, aa, answer, authority, additional },
      {
        rcode: "NOERROR",
        aa: true,
        answer: [
          "example.com 300 MX 10 mx1.example.com",
          "example.com 300 MX 20 mx2.mail.example.com",
          "example.com 300 MX 30 mx.elsewhere.example",
        ],
        authority: [],
        additional: [
          "mx1.example.com 60 A 192.0.2.1",
          "mx1.example.com 120 AAAA 2001:db8::1",
          "mx2.mail.example.com 120 A 192.0.2.2",
        ],
      },
    );
    assert.deepEqual((await ask("_sip._tcp.example.com", "SRV")).additional, [
      "web.example.com 30 A 192.0.2.80",
      "web.example.com 30 A 192.0.2.81",
    ]);
  });

  test("preserves the letter case of the question (0x20), including in owner names", async () => {
    const { bytes, answer } = await ask("wEb.ExAmPlE.cOm", "A");
    const question = testQuery({ name: "wEb.ExAmPlE.cOm", type: "A" }).subarray(12);
    assert.deepEqual(bytes.subarray(12, 12 + question.length), question);
    assert.equal(bytes.readUInt16BE(12 + question.length), 0xc00c, "the owner name is a pointer to the question");
    assert.deepEqual(answer, ["web.example.com 30 A 192.0.2.80", "web.example.com 30 A 192.0.2.81"]);
  });

  test("contains the zone's SOA and NS records", async () => {
    assert.deepEqual((await ask("example.com", "SOA")).answer, soa("example.com", 3600));
    assert.deepEqual((await ask("example.com", "NS")).answer, [
      "example.com 86400 NS ns1.reelpost.example",
      "example.com 86400 NS ns2.reelpost.example",
    ]);
  });

  test("NXDOMAIN and NODATA carry the SOA with the negative TTL (RFC 2308)", async () => {
    for (const [name, rcode] of [
      ["nope.example.com", "NXDOMAIN"],
      ["mx1.example.com", "NOERROR"],
    ] as const) {
      const found = await ask(name, "TXT");
      assert.deepEqual([found.rcode, found.aa, found.answer, found.authority], [rcode, true, [], soa("example.com")]);
    }
  });

  test("a name exists even if only names below it have records (RFC 4592 2.2.2)", async () => {
    for (const name of ["mail.example.com", "_tcp.mx1.example.com", "ent.wild.example.com"])
      assert.deepEqual([(await ask(name, "A")).rcode, (await ask(name, "A")).answer], ["NOERROR", []], name);
  });

  test("wildcards match only where no name exists (RFC 4592)", async () => {
    assert.deepEqual((await ask("x.wild.example.com", "TXT")).answer, ["x.wild.example.com 120 TXT any"]);
    assert.deepEqual((await ask("a.b.wild.example.com", "TXT")).answer, ["a.b.wild.example.com 120 TXT any"]);
    assert.deepEqual((await ask("*.wild.example.com", "TXT")).answer, ["*.wild.example.com 120 TXT any"]);
    assert.equal((await ask("x.wild.example.com", "A")).rcode, "NOERROR");
    for (const name of ["x.there.wild.example.com", "x.deep.ent.wild.example.com", "y.ent.wild.example.com"])
      assert.equal((await ask(name, "TXT")).rcode, "NXDOMAIN", name);
    assert.deepEqual((await ask("there.wild.example.com", "TXT")).answer, []);
    assert.deepEqual(
      (await ask("q.alias.example.com", "A")).answer.map((line) => line.split(" ").slice(0, 3).join(" ")),
      ["q.alias.example.com 120 CNAME", "web.example.com 30 A", "web.example.com 30 A"],
    );
  });

  test("follows CNAMEs within the zone", async () => {
    assert.deepEqual((await ask("www.example.com", "A")).answer, [
      "www.example.com 60 CNAME web.example.com",
      "web.example.com 30 A 192.0.2.80",
      "web.example.com 30 A 192.0.2.81",
    ]);
    assert.deepEqual((await ask("www.example.com", "CNAME")).answer, ["www.example.com 60 CNAME web.example.com"]);
    const out = await ask("out.example.com", "A");
    assert.deepEqual(
      [out.rcode, out.answer, out.authority],
      ["NOERROR", ["out.example.com 120 CNAME host.elsewhere.example"], []],
    );
    const away = await ask("away.example.com", "A");
    assert.deepEqual(
      [away.rcode, away.answer.length, away.authority],
      ["NXDOMAIN", 1, soa("example.com")],
      "RFC 6604: the response code is that of the last name",
    );
    const loop = await ask("loop1.example.com", "A");
    assert.deepEqual([loop.rcode, loop.answer.length], ["NOERROR", 2]);
    const noData = await ask("www.example.com", "TXT");
    assert.deepEqual([noData.rcode, noData.answer.length, noData.authority], ["NOERROR", 1, soa("example.com")]);
  });

  test("returns a referral with glue for a delegation", async () => {
    for (const name of [
      "sub.example.com",
      "a.b.sub.example.com",
      "hidden.sub.example.com",
      "ns.sub.example.com",
      "x.inner.sub.example.com",
    ]) {
      const found = await ask(name, "A");
      assert.deepEqual([found.rcode, found.aa, found.answer], ["NOERROR", false, []], name);
      assert.deepEqual(found.authority, [
        "sub.example.com 120 NS ns.sub.example.com",
        "sub.example.com 120 NS ns.elsewhere.example",
      ]);
      assert.deepEqual(found.additional, [
        "ns.sub.example.com 120 A 192.0.2.53",
        "ns.sub.example.com 120 AAAA 2001:db8::53",
      ]);
    }
    const ds = await ask("sub.example.com", "DS");
    assert.deepEqual([ds.aa, ds.answer.length, ds.authority], [true, 1, []], "DS belongs to the parent zone");
    const into = await ask("into.example.com", "A");
    assert.deepEqual([into.aa, into.answer.length, into.authority.length], [true, 1, 2]);
  });

  test("answers from the closest zone, and refuses names outside its zones", async () => {
    assert.deepEqual(
      (await ask("child.example.com", "A")).answer,
      ["child.example.com 1 A 192.0.2.99"].map((line) => line.replace(" 1 ", " 300 ")),
    );
    assert.deepEqual((await ask("x.child.example.com", "A")).authority, soa("child.example.com"));
    const into = await ask("tochild.example.com", "A");
    assert.deepEqual(
      [into.rcode, into.answer, into.authority],
      ["NOERROR", ["tochild.example.com 120 CNAME www.child.example.com"], []],
      "names of another zone are not resolved here",
    );
    assert.equal((await ask("child.example.com", "DS")).answer.length, 1, "DS belongs to the parent zone");
    for (const name of ["example.net", ".", "com", "xexample.com"])
      assert.deepEqual([(await ask(name, "A")).rcode, (await ask(name, "A")).aa], ["REFUSED", false], name);
  });

  test("flattens a CNAME at the apex to addresses", async () => {
    assert.deepEqual((await ask("apex.example", "A")).answer, [
      "apex.example 30 A 192.0.2.80",
      "apex.example 30 A 192.0.2.81",
    ]);
    assert.deepEqual((await ask("apex.example", "AAAA")).authority, soa("apex.example"));
    assert.deepEqual((await ask("apex.example", "MX")).answer, ["apex.example 300 MX 10 mx.example.net"]);
    assert.deepEqual((await ask("apex.example", "CNAME")).answer, []);
    assert.deepEqual((await ask("flat.example.com", "A")).answer, [
      "flat.example.com 30 A 192.0.2.80",
      "flat.example.com 30 A 192.0.2.81",
    ]);
  });

  test("looks up an external target once, or explains a SERVFAIL", async () => {
    const without = await ask("outside.example", "A", { payload: 1232 });
    assert.equal(without.rcode, "SERVFAIL");
    assert.match(without.bytes.toString("latin1"), /points to cdn\.example\.net, which this server does not serve/);
    const queries: string[] = [];
    const respond = responder(async (host, type) => {
      queries.push(`${host} ${type}`);
      return type === "A" ? [{ address: "198.51.100.1", ttl: 60 }] : [];
    });
    for (let time = 0; time < 3; time++)
      assert.deepEqual((await ask("outside.example", "A", { respond })).answer, ["outside.example 60 A 198.51.100.1"]);
    assert.equal((await ask("outside.example", "AAAA", { respond })).rcode, "NOERROR");
    assert.deepEqual(queries, ["cdn.example.net A", "cdn.example.net AAAA"]);
    const failing = responder(async () => Promise.reject(new Error("no route")));
    assert.equal((await ask("outside.example", "A", { respond: failing })).rcode, "SERVFAIL");
  });

  test("answers ANY with HINFO (RFC 8482)", async () => {
    assert.deepEqual((await ask("example.com", "ANY")).answer, [
      `example.com 3600 HINFO 07${Buffer.from("RFC8482").toString("hex")}00`,
    ]);
    assert.equal((await ask("nope.example.com", "ANY")).rcode, "NXDOMAIN");
  });

  test("answers NODATA for unknown types (RFC 3597)", async () => {
    const found = await ask("web.example.com", "TYPE65280");
    assert.deepEqual([found.rcode, found.answer, found.authority], ["NOERROR", [], soa("example.com")]);
  });
});

describe("the size of an answer", () => {
  test("is at most 512 octets over UDP, or the client's EDNS size up to 1232; otherwise the answer has TC set and no records", async () => {
    for (const [name, payload, truncated] of [
      ["large.example.com", undefined, true],
      ["large.example.com", 4096, true],
      ["example.com", undefined, false],
    ] as const) {
      const { tc, bytes, answer } = await ask(name, name === "example.com" ? "MX" : "TXT", { over: "udp", payload });
      assert.deepEqual(
        [tc, bytes.length <= (payload === undefined ? 512 : 1232), answer.length === 0],
        [truncated, true, truncated],
      );
    }
    assert.equal((await ask("large.example.com", "TXT")).answer.length, 1, "the response over TCP is complete");
  });

  test("drops additional records before truncating", async () => {
    const many = Array.from(
      { length: 14 },
      (_, index) =>
        `@ MX ${index} host${index}.a-rather-long-label-of-this-zone\nhost${index}.a-rather-long-label-of-this-zone AAAA 2001:db8::${index}\n`,
    ).join("");
    const respond = responder(undefined, { "example.com": many });
    const { tc, answer, additional, bytes } = await ask("example.com", "MX", { over: "udp", respond });
    assert.deepEqual([tc, answer.length, bytes.length <= 512], [false, 14, true]);
    assert(additional.length < 14 && additional.length > 0);
  });

  test("never exceeds the client's limit, including OPT", async () => {
    for (let length = 380; length < 520; length += 3) {
      const respond = responder(undefined, {
        "example.com": `@ TXT "${"x".repeat(255)}" "${"x".repeat(length - 255)}"\n`,
      });
      for (const payload of [undefined, 512]) {
        const { bytes, tc, answer } = await ask("example.com", "TXT", { over: "udp", payload, respond });
        assert(bytes.length <= 512 && tc === (answer.length === 0), `${length}: ${bytes.length}`);
      }
    }
  });

  test("truncates when glue does not fit (RFC 9471)", async () => {
    const many = Array.from(
      { length: 13 },
      (_, index) =>
        `sub NS ns${index}.sub\nns${index}.sub AAAA 2001:db8::${index}\nns${index}.sub A 192.0.2.${index}\n`,
    ).join("");
    const respond = responder(undefined, { "example.com": many });
    assert.equal((await ask("x.sub.example.com", "A", { over: "udp", respond })).tc, true);
    assert.equal((await ask("x.sub.example.com", "A", { over: "udp", respond, payload: 1232 })).additional.length, 26);
  });

  test("truncates over TCP if a record set exceeds a message", async () => {
    const respond = responder(undefined, {
      "example.com": Array.from({ length: 400 }, (_, index) => `@ TXT "${String(index).padStart(200, "x")}"\n`).join(
        "",
      ),
    });
    assert.deepEqual([(await ask("example.com", "TXT", { respond })).tc], [true]);
  });
});
