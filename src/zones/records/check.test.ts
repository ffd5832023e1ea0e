import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { UserError } from "../../kernel/index.ts";
import { recordOf } from "../../protocol/dns/dns.testing.ts";
import { presentData, RECORD_TYPES } from "../../protocol/dns/index.ts";
import { checkRecord } from "./check.ts";
import { contentOf, dataOf, hasPriority, isProxiable } from "./content.ts";
import type { RecordRequest } from "./types.ts";

const zone = "example.com";
const check = (request: Partial<RecordRequest>) =>
  checkRecord(
    { type: "A", name: "www", content: request.type === undefined ? "192.0.2.1" : undefined, ...request },
    zone,
  );

function problems(request: Partial<RecordRequest>): [code: number, message: string][] {
  try {
    check(request);
  } catch (err) {
    assert.ok(
      err instanceof UserError && err.kind === "dnsInvalid" && err.message === "DNS Validation Error",
      String(err),
    );
    return (err.details.chain as { code: number; message: string }[]).map(({ code, message }) => [code, message]);
  }
  return [];
}

describe("names", () => {
  const names: [string, string][] = [
    ["@", zone],
    ["", zone],
    ["example.com", zone],
    ["Example.COM.", zone],
    ["www", "www.example.com"],
    ["www.example.com", "www.example.com"],
    ["a.b", "a.b.example.com"],
    ["*", "*.example.com"],
    ["*.dev", "*.dev.example.com"],
    ["_dmarc", "_dmarc.example.com"],
    ["notexample.com", "notexample.com.example.com"],
    ["bücher", "xn--bcher-kva.example.com"],
    ["128/26", "128/26.example.com"],
    ["007", "007.example.com"],
  ];
  for (const [given, name] of names) test(`${given} is ${name}`, () => assert.equal(check({ name: given }).name, name));

  for (const name of [
    "other.net.",
    "a..b",
    "-a",
    "a-",
    "a b",
    "a.*",
    "a\\.b",
    ".",
    "x".repeat(64),
    `${"a.".repeat(125)}b`,
    "a\n",
    "ex\0",
  ]) {
    test(`rejects ${JSON.stringify(name.slice(0, 20))}`, () =>
      assert.equal(problems({ name })[0]?.[0], name === "a\n" ? undefined : 9000));
  }
});

describe("contents", () => {
  test("invalid content is reported with the code of its type", () => {
    assert.deepEqual(problems({ type: "A", content: "1.2.3" }), [
      [9005, "Content for A record is invalid. Must be a valid IPv4 address"],
    ]);
    assert.deepEqual(problems({ type: "AAAA", content: "1.2.3.4" }), [
      [9006, "Content for AAAA record is invalid. Must be a valid IPv6 address"],
    ]);
    assert.deepEqual(problems({ type: "CNAME", content: "192.0.2.1" })[0]?.[0], 9007);
    assert.deepEqual(problems({ type: "NS", content: "192.0.2.1" })[0]?.[0], 9008);
    assert.deepEqual(problems({ type: "MX", content: "::1", priority: 1 }), [
      [9009, "Content for MX record must be a hostname. It is an IP address, not a host name."],
    ]);
    assert.deepEqual(problems({ type: "MX", content: "mail.example.net" }), [
      [9101, "priority is a required data field."],
    ]);
    assert.deepEqual(problems({ type: "MX", content: "mail.example.net", priority: 70_000 })[0]?.[0], 9102);
    assert.deepEqual(problems({ type: "MX", content: "mail.example.net", priority: 1.5 })[0]?.[0], 9102);
    assert.deepEqual(problems({ type: "TXT" }), [[9101, "content is a required data field."]]);
    assert.deepEqual(problems({ type: "SRV", data: { weight: 1, port: 2, target: "x.example" } }), [
      [9101, "priority is a required data field."],
    ]);
    assert.deepEqual(
      problems({ type: "SRV", data: { priority: 1, weight: 1, port: 70_000, target: "x.example" } })[0]?.[0],
      9099,
    );
    assert.deepEqual(problems({ type: "CAA", data: { flags: 0, tag: "issue" } }), [
      [9101, "value is a required data field."],
    ]);
    assert.deepEqual(problems({ type: "TXT", content: "x".repeat(4096) })[0]?.[0], 9015);
    assert.deepEqual(problems({ type: "TXT", content: "a\nb" })[0]?.[0], 9099);
    assert.deepEqual(problems({ type: "TXT", content: '"open' })[0]?.[0], 9099);
    assert.deepEqual(problems({ type: "CNAME", name: "www", content: "www.example.com" }), [
      [9039, "CNAME record cannot reference itself."],
    ]);
    assert.deepEqual(problems({ type: "SOA", content: "x" })[0]?.[0], 9001);
    assert.deepEqual(problems({ type: "NOPE", content: "x" })[0]?.[0], 9001);
  });

  test("of an invalid record are reported together with all its other problems", () => {
    assert.deepEqual(
      problems({
        type: "MX",
        name: "a..b",
        content: "::1",
        priority: 1,
        ttl: 5,
        proxied: true,
        comment: "x".repeat(101),
        tags: ["no colon"],
      }).map(([code]) => code),
      [9000, 9009, 9004, 9021, 9300, 9301],
    );
  });

  test("of TXT records are accepted with and without quotes, and in several strings", () => {
    const content = (text: string) => check({ type: "TXT", content: text }).content;
    assert.equal(content("v=spf1 include:x ~all"), '"v=spf1 include:x ~all"');
    assert.equal(content('"v=spf1" " ~all"'), '"v=spf1" " ~all"');
    assert.equal(content("v=DKIM1; k=rsa; p=AB"), '"v=DKIM1; k=rsa; p=AB"');
    assert.equal(content('say "hi" \\ there'), '"say \\"hi\\" \\\\ there"');
    assert.equal(content("ü"), '"\\195\\188"');
    assert.equal(content("x".repeat(300)), `"${"x".repeat(255)}" "${"x".repeat(45)}"`);
    assert.equal(content(""), '""');
  });

  test("of structured types are accepted as data, as content, and as content without the priority", () => {
    const srv = {
      content: "5 8806 example.net",
      priority: 10,
      data: { priority: 10, weight: 5, port: 8806, target: "example.net" },
    };
    const forms: Partial<RecordRequest>[] = [
      { data: srv.data },
      { content: "10 5 8806 example.net." },
      { content: "5 8806 example.net", priority: 10 },
      { content: "10 IN SRV 5 8806 example.net." },
      { data: { weight: 5, port: 8806, target: "example.net" }, priority: 10 },
    ];
    for (const form of forms) {
      const { content, priority, data } = check({ type: "SRV", ...form });
      assert.deepEqual({ content, priority, data }, srv, JSON.stringify(form));
    }
    const https = check({ type: "HTTPS", data: { priority: 1, target: ".", value: 'alpn="h3,h2"' } });
    assert.deepEqual([https.content, https.priority], ['1 . alpn="h3,h2"', null]);
    assert.equal(check({ type: "MX", data: { priority: 5, target: "m.example.net" } }).priority, 5);
    assert.deepEqual(
      check({ type: "URI", priority: 10, data: { weight: 1, target: "https://example.net/" } }).content,
      '1 "https://example.net/"',
    );
    assert.equal(
      check({ type: "CAA", data: { flags: 0, tag: "issue", value: "ca.example" }, content: "ignored" }).content,
      '0 issue "ca.example"',
    );
  });

  test("content and priority together express all data of a record", () => {
    fc.assert(
      fc.property(recordOf(), ({ type, data }) => {
        const priority = hasPriority(type) ? (data.priority as number) : null;
        assert.deepEqual(dataOf({ type, content: contentOf(type, data), priority }), data);
        const draft = check({ type, content: presentData(type, data) });
        assert.deepEqual(dataOf(draft), data);
        assert.deepEqual(check({ type, content: draft.content, priority: draft.priority ?? undefined }), draft);
        if (draft.data !== null) assert.deepEqual(check({ type, data: draft.data }), draft);
      }),
      { numRuns: 300 },
    );
  });

  test("any input results in a record or an error with codes", () => {
    const any = fc.record(
      {
        type: fc.constantFrom(...RECORD_TYPES),
        name: fc.string(),
        content: fc.option(fc.string({ unit: "binary" }), { nil: undefined }),
        data: fc.option(
          fc.dictionary(
            fc.constantFrom("priority", "target", "value", "flags", "tag", "weight", "port"),
            fc.anything(),
          ),
          { nil: undefined },
        ),
        priority: fc.option(fc.double(), { nil: undefined }),
        ttl: fc.option(fc.double(), { nil: undefined }),
        comment: fc.string(),
      },
      { requiredKeys: ["type", "name"] },
    );
    fc.assert(
      fc.property(any, (request) => void problems(request as RecordRequest)),
      { numRuns: 1000 },
    );
  });
});

describe("other fields of a record", () => {
  test("the TTL is automatic or between 60 and 86,400 seconds", () => {
    assert.equal(check({}).ttl, 1);
    for (const ttl of [1, 60, 86_400]) assert.equal(check({ ttl }).ttl, ttl);
    for (const ttl of [0, 2, 59, 86_401, -1, 60.5, Number.NaN])
      assert.deepEqual(
        problems({ ttl }),
        [[9021, "Invalid TTL. Must be between 60 and 86400 seconds, or 1 for Automatic."]],
        String(ttl),
      );
  });

  test("proxied records have the automatic TTL, and must be addresses or CNAME", () => {
    assert.deepEqual([check({ proxied: true, ttl: 300 }).ttl, check({ proxied: true }).proxied], [1, true]);
    for (const type of RECORD_TYPES.filter((other) => !isProxiable(other)))
      assert.ok(
        problems({ type, content: "x", proxied: true }).some(([code]) => code === 9004),
        type,
      );
  });

  test("comment and tags are trimmed and limited", () => {
    assert.equal(check({ comment: "  ü".padEnd(100, "x") }).comment!.length, 98);
    assert.equal(check({ comment: "" }).comment, null);
    for (const comment of ["x".repeat(101), "a\nb", "\u007f"]) assert.equal(problems({ comment })[0]?.[0], 9300);
    assert.deepEqual(check({ tags: ["team:dns", "team:dns", " a:b "] }).tags, ["team:dns", "a:b"]);
    for (const tags of [
      ["x"],
      [":y"],
      ["a b:c"],
      ["a:b\n"].map((tag) => `${tag}c`),
      Array.from({ length: 21 }, (_, n) => `t:${n}`),
    ])
      assert.equal(problems({ tags })[0]?.[0], 9301, JSON.stringify(tags));
  });

  test("include only settings that are enabled", () => {
    assert.equal(check({ settings: { ipv4_only: false } }).settings, null);
    assert.deepEqual(check({ settings: { ipv4_only: true, ipv6_only: false } }).settings, { ipv4_only: true });
  });
});
