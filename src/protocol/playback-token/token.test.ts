import assert from "node:assert/strict";
import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import { test } from "node:test";
import * as fc from "fast-check";
import type { AccessRule } from "./rules.ts";
import {
  isSignedBy,
  looksLikeToken,
  numericDate,
  readToken,
  timeValidityError,
  signToken,
  type PlaybackToken,
} from "./token.ts";

const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const other = generateKeyPairSync("rsa", { modulusLength: 2048 });
const KID = "b".repeat(32);
const SUB = "a".repeat(32);
const NOW = 1_800_000_000;
const plain = { sub: SUB, exp: NOW + 60 };

const part = (value: unknown) =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
function tokenOf(claims: unknown, header: unknown = { alg: "RS256", kid: KID }, key = privateKey): string {
  const signed = `${part(header)}.${part(claims)}`;
  return `${signed}.${sign("sha256", Buffer.from(signed), key).toString("base64url")}`;
}
function read(text: string): PlaybackToken {
  const reading = readToken(text);
  assert.ok(reading.ok, JSON.stringify(reading));
  return reading.token;
}
function why(text: string): string {
  const reading = readToken(text);
  assert.ok(!reading.ok, "it was accepted");
  return reading.why;
}

test("a signed token is read back, and changing any character invalidates it", () => {
  const rules: AccessRule[] = [
    { type: "any", action: "block" },
    { type: "ip.src", action: "allow", ip: ["10.0.0.0/8", "2001:db8::1"] },
    { type: "ip.geoip.country", action: "block", country: ["DE"] },
  ];
  fc.assert(
    fc.property(
      fc.nat(4e9),
      fc.nat(4e9),
      fc.boolean(),
      fc.boolean(),
      fc.subarray(rules),
      fc.nat(),
      fc.nat(63),
      (exp, nbf, downloadable, original, some, place, letter) => {
        const text = signToken({ kid: KID, sub: SUB, exp, nbf, downloadable, original, rules: some }, privateKey);
        const token = read(text);
        assert.deepEqual(token.claims, { kid: KID, sub: SUB, exp, nbf, downloadable, original });
        assert.deepEqual(token.rules, some);
        assert.ok(isSignedBy(token, publicKey));
        assert.ok(!isSignedBy(token, other.publicKey));
        const at = place % text.lastIndexOf(".");
        const changed =
          text.slice(0, at) +
          "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[letter] +
          text.slice(at + 1);
        if (changed === text) return;
        const reading = readToken(changed);
        assert.ok(!reading.ok || !isSignedBy(reading.token, publicKey));
      },
    ),
    { numRuns: 150 },
  );
});

test("only RS256 is accepted: none, HS256 with the public key as secret, and other families are rejected", () => {
  assert.match(why(`${part({ alg: "none", kid: KID })}.${part(plain)}.${part("x")}`), /not RS256/);
  assert.match(why(`${part({ alg: "none", kid: KID })}.${part(plain)}.`), /three base64url parts/);
  const signed = `${part({ alg: "HS256", kid: KID })}.${part(plain)}`;
  const forged = createHmac("sha256", publicKey.export({ type: "spki", format: "pem" }))
    .update(signed)
    .digest("base64url");
  assert.match(why(`${signed}.${forged}`), /not RS256/);
  for (const alg of ["rs256", "RS384", "PS256", "ES256", "", undefined, null, ["RS256"]])
    assert.match(why(tokenOf(plain, { alg, kid: KID })), /not RS256/);
  assert.match(why(tokenOf(plain, { alg: "RS256", kid: KID, crit: ["exp"] })), /crit/);
  const ec = generateKeyPairSync("ec", { namedCurve: "P-256" });
  assert.ok(!isSignedBy(read(tokenOf(plain)), ec.publicKey));
});

test("the key id is in the header, in the claims, or in both with the same value", () => {
  assert.equal(read(tokenOf(plain)).claims.kid, KID);
  assert.equal(read(tokenOf({ ...plain, kid: KID }, { alg: "RS256" })).claims.kid, KID);
  assert.equal(read(tokenOf({ ...plain, kid: KID })).claims.kid, KID);
  assert.match(why(tokenOf({ ...plain, kid: "c".repeat(32) })), /different key IDs/);
  assert.match(why(tokenOf(plain, { alg: "RS256" })), /has no key ID/);
  for (const kid of [1, "", "k".repeat(65), {}, true])
    assert.match(why(tokenOf(plain, { alg: "RS256", kid })), /has no key ID/);
});

test("rejects a token without a video or an expiry", () => {
  for (const sub of [undefined, null, "", 5, [SUB]]) assert.match(why(tokenOf({ ...plain, sub })), /has no video ID/);
  for (const exp of [undefined, null]) assert.match(why(tokenOf({ ...plain, exp })), /has no expiry time/);
});

test("times are accepted as numbers or as numeric strings", () => {
  const { claims } = read(tokenOf({ sub: SUB, exp: "1800000060", nbf: "1799999000", iat: 1_799_999_000.5 }));
  assert.deepEqual([claims.exp, claims.nbf, claims.iat], [1_800_000_060, 1_799_999_000, 1_799_999_000.5]);
  for (const bad of [
    "",
    " 5",
    "5 ",
    "1e9",
    "0x10",
    "-5",
    -5,
    true,
    [],
    {},
    "99999999999999999999",
    "NaN",
    "tomorrow",
  ]) {
    assert.equal(numericDate(bad), undefined, JSON.stringify(bad));
    assert.match(why(tokenOf({ ...plain, nbf: bad })), /nbf is not a number/);
  }
});

test("distinguishes malformed tokens from uids and from other text", () => {
  assert.ok(!looksLikeToken(SUB));
  for (const text of [
    "a.b",
    "a.b.c.d",
    "..",
    "a..c",
    "a b.c.d",
    `${part("[]")}.${part(plain)}.AA`,
    `${part("{")}.${part(plain)}.AA`,
    `${part({ alg: "RS256", kid: KID })}.${part("7")}.AA`,
  ]) {
    assert.ok(looksLikeToken(text));
    why(text);
  }
  assert.match(why(`${"a".repeat(9000)}.b.c`), /more than 8192/);
  assert.match(why(`${Buffer.from([0x7b, 0xff, 0x7d]).toString("base64url")}.${part(plain)}.AA`), /JSON/);
});

test("reading any input yields a token or a reason", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json(), fc.base64String()), fc.json(), fc.string(), (head, body, tail) => {
      const reading = readToken(`${part(head)}.${part(body)}.${part(tail)}`);
      if (!reading.ok) assert.ok(reading.why.length > 0 && reading.why.length < 200);
    }),
  );
  fc.assert(
    fc.property(
      fc.record({
        sub: fc.anything(),
        exp: fc.anything(),
        nbf: fc.anything(),
        accessRules: fc.anything(),
        flags: fc.anything(),
        downloadable: fc.anything(),
      }),
      (claims) => {
        let text;
        try {
          text = tokenOf(claims);
        } catch {
          return; // This input cannot be serialized as JSON.
        }
        const reading = readToken(text);
        if (reading.ok) assert.equal(typeof reading.token.claims.exp, "number");
      },
    ),
    { numRuns: 100 },
  );
});

test("only the boolean true is interpreted as true", () => {
  for (const value of [1, "yes", {}, [], null, "TRUE"]) {
    const { claims } = read(tokenOf({ ...plain, downloadable: value, flags: { original: value } }));
    assert.deepEqual([claims.downloadable, claims.original], [false, false], JSON.stringify(value));
  }
  const { claims } = read(tokenOf({ ...plain, downloadable: true, flags: { original: true } }));
  assert.deepEqual([claims.downloadable, claims.original], [true, true]);
  for (const flags of [null, 5, "original", []])
    assert.equal(read(tokenOf({ ...plain, flags })).claims.original, false);
});

test("a token is valid from nbf to exp, allowing for clock skew, up to the maximum lifetime", () => {
  const rules = { skew: 5, maxLife: 86_400 };
  const at = (claims: { exp: number; nbf?: number; iat?: number }, now = NOW) => timeValidityError(claims, now, rules);
  assert.equal(at({ exp: NOW + 1, nbf: NOW }), undefined);
  assert.equal(at({ exp: NOW - 4 }), undefined);
  assert.match(at({ exp: NOW - 5 })!, /expired/);
  assert.equal(at({ exp: NOW + 60, nbf: NOW + 5 }), undefined);
  assert.match(at({ exp: NOW + 60, nbf: NOW + 6 })!, /not valid yet/);
  assert.equal(at({ exp: NOW + 86_405 }), undefined);
  assert.match(at({ exp: NOW + 86_406 })!, /24 hours/);
  assert.match(at({ exp: NOW * 1000 })!, /unit is seconds/);
  // If signed long ago, the lifetime started then. If signed in the future, the signer's clock is not trusted.
  assert.match(at({ exp: NOW + 60, iat: NOW - 90_000 })!, /24 hours/);
  assert.match(at({ exp: NOW + 100_000, iat: NOW + 50_000 })!, /24 hours/);
  assert.equal(timeValidityError({ exp: NOW + 1e8 }, NOW, { skew: 5, maxLife: 0 }), undefined);
});
