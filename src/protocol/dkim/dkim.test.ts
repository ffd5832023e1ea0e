import assert from "node:assert/strict";
import { createHash, generateKeyPairSync, type KeyObject } from "node:crypto";
import { test } from "node:test";
import * as fc from "fast-check";
import { arc, dkimVerify } from "mailauth";
import { fieldRanges } from "../rfc5322/index.ts";
import { arcSet } from "./arc-seal.ts";
import { createBodyHash, relaxedField } from "./relaxed.ts";
import { dkimSignatures, type SignatureInput, type SigningKey } from "./signature.ts";

const dkimSignature = async (signed: SignatureInput, key: SigningKey) => (await dkimSignatures(signed, [key])).join("");

const NOW = Math.floor(Date.now() / 1000);
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const ed25519 = generateKeyPairSync("ed25519");

const KEYS: Record<string, SigningKey & { record: string }> = {
  rsa: {
    domain: "a.example",
    selector: "r",
    key: rsa.privateKey,
    record: `v=DKIM1; k=rsa; p=${spki(rsa.publicKey).toString("base64")}`,
  },
  ed: {
    domain: "b.example",
    selector: "e",
    key: ed25519.privateKey,
    record: `v=DKIM1; k=ed25519; p=${spki(ed25519.publicKey).subarray(-32).toString("base64")}`,
  },
};

function spki(key: KeyObject): Buffer {
  return key.export({ format: "der", type: "spki" });
}

async function resolver(name: string): Promise<string[][]> {
  const key = Object.values(KEYS).find(({ selector, domain }) => name === `${selector}._domainkey.${domain}`);
  if (key === undefined) throw Object.assign(new Error("no such name"), { code: "ENOTFOUND" });
  return [[key.record]];
}

const fieldsOf = (header: string) =>
  [...fieldRanges(Buffer.from(header, "latin1"))].map(([start, end]) => header.slice(start, end));

function hashOf(body: string, cut = body.length): string {
  const hash = createBodyHash();
  const bytes = Buffer.from(body, "latin1");
  for (let at = 0; at < bytes.length; at += Math.max(1, cut)) hash.push(bytes.subarray(at, at + Math.max(1, cut)));
  return hash.digest();
}

const signedOf = (header: string, body: string) => ({ fields: fieldsOf(header), bodyHash: hashOf(body), time: NOW });
const verify = async (message: string) =>
  (await dkimVerify(Buffer.from(message, "latin1"), { resolver, strict: true })).results.map(
    ({ status }) => status.result,
  );

async function chainOf(message: string): Promise<string> {
  const { arc: data } = await dkimVerify(Buffer.from(message, "latin1"), { resolver, strict: true });
  return (await arc(data as never, { resolver, strict: true })).status.result;
}

const HEADER =
  "From: A <a@a.example>\r\nTo: b@b.example,\r\n\tc@c.example\r\nSubject:  hello   world \r\nList-Unsubscribe: <https://a.example/u>\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n";

test("RFC 6376 3.4.5: canonical forms match the example in the standard", () => {
  assert.equal(relaxedField("A: X\r\n"), "a:X");
  assert.equal(relaxedField("B : Y\t\r\n\tZ  \r\n"), "b:Y Z");
  const wanted = createHash("sha256").update(" C\r\nD E\r\n").digest("base64");
  assert.equal(hashOf(" C \r\nD \t E\r\n\r\n\r\n"), wanted);
  assert.equal(hashOf(""), createHash("sha256").digest("base64"));
  assert.equal(hashOf("\r\n \t\r\n\r\n"), createHash("sha256").digest("base64"));
});

test("the body hash does not depend on chunking and matches the hash computed by other implementations", async () => {
  const piece = fc.constantFrom(" ", "\t", "\r\n", "a", "xyz", "  ", " \r\n", "\r", ".", "é");
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 40 }), fc.integer({ min: 1, max: 7 }), async (pieces, cut) => {
      // A lone CR is not a line ending here; a lone LF cannot reach this code.
      const body = pieces.join("");
      const whole = hashOf(body);
      assert.equal(hashOf(body, cut), whole);
      if (/\r(?!\n)/.test(body)) return;
      assert.deepEqual(
        await verify((await dkimSignature(signedOf(HEADER, body), KEYS.ed!)) + HEADER + "\r\n" + body),
        ["pass"],
        JSON.stringify(body),
      );
    }),
    { numRuns: 200 },
  );
});

test("two signatures, RSA and Ed25519, pass strict verification", async () => {
  const body = "Hello,\r\n\r\n  this is   text.\r\n\r\n";
  const signed = signedOf(HEADER, body);
  const fields = (await dkimSignatures(signed, [KEYS.rsa!, KEYS.ed!])).join("");
  assert.deepEqual(await verify(`${fields}${HEADER}\r\n${body}`), ["pass", "pass"]);
  assert.deepEqual(await verify(`${fields}${HEADER}\r\n${body}more\r\n`), ["fail", "fail"]);
  assert.deepEqual(await verify(`${fields}${HEADER.replace("hello", "bye")}\r\n${body}`), ["fail", "fail"]);
  for (const line of fields.split("\r\n")) assert.ok(line.length <= 78, line);
});

test("a second From or another unsubscribe header invalidates the signature", async () => {
  const fields = await dkimSignature(signedOf(HEADER, "x\r\n"), KEYS.rsa!);
  assert.deepEqual(await verify(`${fields}From: evil@evil.example\r\n${HEADER}\r\nx\r\n`), ["fail"]);
  assert.deepEqual(await verify(`${fields}${HEADER}From: evil@evil.example\r\n\r\nx\r\n`), ["fail"]);
  assert.deepEqual(await verify(`${fields}${HEADER.replace("/u>", "/v>")}\r\nx\r\n`), ["fail"]);
  assert.match(fields.replace(/\s/g, ""), /h=from:to:subject:list-unsubscribe:list-unsubscribe-post:from;/);
});

test("any header survives folding and canonicalization by other implementations", async () => {
  const value = fc
    .array(fc.constantFrom("a", "b:c", ";", "\t", "  ", "\r\n ", "\r\n\t", "é", "=?", "x".repeat(60)), {
      maxLength: 12,
    })
    .map((parts) => parts.join("").replace(/\r\n[ \t]*(?=\r\n|$)/g, ""));
  await fc.assert(
    fc.asyncProperty(value, value, async (subject, to) => {
      const header = `Subject:${subject}\r\nTo :${to}\r\nFrom: a@a.example\r\nTo: again${to}\r\n`;
      assert.deepEqual(
        await verify(`${await dkimSignature(signedOf(header, "x"), KEYS.ed!)}${header}\r\nx`),
        ["pass"],
        JSON.stringify(header),
      );
    }),
    { numRuns: 100 },
  );
});

test("successive ARC sets pass verification, but not with a changed message", async () => {
  const body = "Hello\r\n";
  let header = (await dkimSignature(signedOf(HEADER, body), KEYS.rsa!)) + HEADER;
  for (const [at, key] of [KEYS.rsa!, KEYS.ed!, KEYS.rsa!].entries()) {
    const set = await arcSet(signedOf(header, body), key, {
      chain: at === 0 ? "none" : "pass",
      results: `mx${at}.example;\r\n\tspf=pass smtp.mailfrom=a@a.example`,
    });
    header = set + header;
    assert.equal(await chainOf(`${header}\r\n${body}`), "pass", `set ${at + 1}`);
  }
  assert.match(header, /^ARC-Seal: i=3;/);
  assert.equal(await chainOf(`${header.replace("hello", "bye")}\r\n${body}`), "fail");
  assert.equal(await chainOf(`${header.replace("mx0.example", "mx9.example")}\r\n${body}`), "fail");
});

test("RFC 8617 5.1: a failed chain is sealed once, and a full chain is not extended", async () => {
  const sealing = { results: "mx.example; none" };
  const sealed = (header: string, chain: "none" | "pass" | "fail") =>
    arcSet(signedOf(header, "x"), KEYS.ed!, { ...sealing, chain });
  const first = (await sealed(HEADER, "none"))!;
  const closed = (await sealed(first + HEADER, "fail"))!;
  assert.match(closed, /^ARC-Seal: i=2;[^;]*;[^;]*; cv=fail;/);
  assert.equal(await sealed(closed + first + HEADER, "fail"), undefined);
  assert.match((await sealed("ARC-Seal: i=1; nonsense\r\n" + HEADER, "none"))!, /cv=fail/);
  // RFC 8617 4.2.1: at most 50 ARC sets.
  assert.match((await sealed(`ARC-Seal: i=49; cv=pass\r\n${HEADER}`, "pass"))!, /^ARC-Seal: i=50;/);
  assert.equal(await sealed(`ARC-Seal: i=50; cv=pass\r\n${HEADER}`, "pass"), undefined);
});
