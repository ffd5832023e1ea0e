import assert from "node:assert/strict";
import { createPrivateKey } from "node:crypto";
import { test } from "node:test";
import { systemClock } from "../../kernel/index.ts";
import { arcSet, createBodyHash } from "../../protocol/dkim/index.ts";
import { fieldRanges } from "../../protocol/rfc5322/index.ts";
import { boundedResolver, DEFAULT_LOOKUP_LIMITS } from "./resolver.ts";
import { verifySignatures } from "./signatures.ts";
import { checkSpf } from "./spf.ts";
import { readSuite, tableResolver, zoneResolver, type Section } from "./suites.testing.ts";

/** Skipped unless the suites are checked out alongside the project; the other authentication tests do not need them. */

const bounded = (resolver: Parameters<typeof boundedResolver>[0]) =>
  boundedResolver(resolver, systemClock, DEFAULT_LOOKUP_LIMITS);
const OPTIONS = { minKeyBits: 1024, now: Date.UTC(2026, 0, 5), ip: "192.0.2.1", partialBody: "accept" } as const;

const crlf = (text: string) => Buffer.from(text.replace(/\r?\n/g, "\r\n"), "utf8");

for (const section of readSuite("spf/rfc7208-tests.yml") ?? []) {
  test(`RFC 7208 suite: ${section["description"]}`, async () => {
    const resolver = zoneResolver(section["zonedata"] as Section);
    for (const [name, one] of Object.entries(section["tests"] as Record<string, Section>)) {
      const found = await checkSpf(
        { from: one["mailfrom"] as string, helo: one["helo"] as string, ip: one["host"] as string },
        bounded(resolver),
        "receiver.example",
      );
      assert.ok(
        [one["result"]].flat().includes(found.result),
        `${name}: ${found.result} (${found.why}), not ${one["result"]}`,
      );
      if (typeof one["explanation"] === "string" && one["explanation"] !== "DEFAULT" && found.result === "fail")
        assert.equal(found.explanation?.toLowerCase(), one["explanation"].toLowerCase(), name);
    }
  });
}

/**
 * An empty `h=`: the suite accepts it, but RFC 6376 5.4 and 6.1.1 require From to be signed; without it, the signature
 * proves nothing.
 */
const ARC_DIFFERENT = new Set(["ams_fields_h_empty"]);

for (const [at, section] of (readSuite("arc/arc-draft-validation-tests.yml") ?? []).entries()) {
  test(`ARC validation suite, part ${at + 1}: ${String(section["description"]).trim()}`, async () => {
    const resolver = tableResolver(recordsOf(section));
    const wrong: string[] = [];
    for (const [name, one] of Object.entries(section["tests"] as Record<string, Section>)) {
      const { arc } = await verifySignatures(crlf(String(one["message"])), bounded(resolver), OPTIONS);
      const wanted = String(one["cv"]).trim().toLowerCase();
      if (arc.result !== (wanted === "" ? "fail" : wanted) && !ARC_DIFFERENT.has(name))
        wrong.push(`${name}: ${arc.result} (${arc.why}), not ${wanted}`);
    }
    assert.deepEqual(wrong, []);
  });
}

for (const [at, section] of (readSuite("arc/arc-draft-sign-tests.yml") ?? []).entries()) {
  test(`ARC signing suite, part ${at + 1}: generated sets verify, over the body that the suite hashes`, async () => {
    const key = {
      domain: section["domain"] as string,
      selector: section["sel"] as string,
      key: createPrivateKey(section["privatekey"] as string),
    };
    const resolver = tableResolver(recordsOf(section));
    for (const [name, one] of Object.entries(section["tests"] as Record<string, Section>)) {
      const message = crlf(String(one["message"]));
      const { arc } = await verifySignatures(message, bounded(resolver), OPTIONS);
      const end = message.indexOf("\r\n\r\n") + 2;
      const header = message.toString("latin1", 0, end);
      const hash = createBodyHash();
      hash.push(message.subarray(end + 2));
      const fields = [...fieldRanges(message.subarray(0, end))].map(([from, to]) => header.slice(from, to));
      const set = await arcSet({ fields, bodyHash: hash.digest(), time: Number(one["t"]) }, key, {
        chain: arc.result,
        results: `${one["srv-id"]}; spf=none`,
      });
      const wanted = tagsOf(one["AMS"]);
      if (wanted["bh"] === undefined) {
        assert.equal(set, undefined, name);
        continue;
      }
      assert.ok(set !== undefined, name);
      const tags = tagsOf(/ARC-Message-Signature:([^]*?)\r\n(?=\S)/.exec(set)![1]!);
      assert.deepEqual([tags["bh"], tags["i"]], [wanted["bh"], wanted["i"]], name);
      const seal = tagsOf(/ARC-Seal:([^]*?)\r\n(?=\S)/.exec(set)![1]!);
      assert.equal(seal["cv"], tagsOf(one["AS"])["cv"], name);
      if (seal["cv"] !== "fail")
        assert.equal(
          (await verifySignatures(Buffer.concat([Buffer.from(set), message]), bounded(resolver), OPTIONS)).arc.result,
          "pass",
          name,
        );
    }
  });
}

const recordsOf = (section: Section) =>
  Object.fromEntries(
    Object.entries(section["txt-records"] as Section).map(([name, text]) => [
      `${name.toLowerCase()} TXT`,
      [[String(text).replace(/\s+/g, " ").trim()]],
    ]),
  );

const tagsOf = (text: unknown): Record<string, string> =>
  Object.fromEntries(
    String(text ?? "")
      .split(";")
      .flatMap((part) => {
        const equals = part.indexOf("=");
        return equals === -1 ? [] : [[part.slice(0, equals).trim(), part.slice(equals + 1).replace(/\s+/g, "")]];
      }),
  );
