import assert from "node:assert/strict";
import { createHmac, generateKeyPairSync, type KeyObject } from "node:crypto";
import { test } from "node:test";
import { createManualClock, UserError } from "../../kernel/index.ts";
import { signToken, type AccessRule, type NewToken } from "../../protocol/playback-token/index.ts";
import type { Viewer, AccessPurpose } from "./port.ts";
import type { VerifyingKey } from "../keys/port.ts";
import { testVideo } from "../videos/videos.testing.ts";
import { createAccess, type AccessOptions } from "./access.ts";

const ACCOUNT = "a".repeat(32);
const OTHER = "b".repeat(32);
const PUBLIC = "1".repeat(32);
const PRIVATE = "2".repeat(32);
const STRANGE = "3".repeat(32);
const KID = "f".repeat(32);
const NOW = 1_800_000_000;
const HERE: Viewer = { ip: "198.51.100.7" };

const pair = generateKeyPairSync("rsa", { modulusLength: 2048 });

function setUp(more: Partial<AccessOptions> = {}) {
  const clock = createManualClock(NOW * 1000);
  const videos = new Map(
    [
      testVideo({ uid: PUBLIC, account: ACCOUNT }),
      testVideo({ uid: PRIVATE, account: ACCOUNT, requireSignedURLs: true }),
      testVideo({ uid: STRANGE, account: OTHER, requireSignedURLs: true }),
    ].map((video) => [video.uid, video]),
  );
  const keys = new Map<string, VerifyingKey>([[KID, { account: ACCOUNT, publicKey: pair.publicKey }]]);
  const requested = { country: 0, key: 0 };
  const access = createAccess({
    videos: { find: async (uid) => videos.get(uid) },
    keys: { find: async (id) => (requested.key++, keys.get(id)) },
    countryOf: (ip) => (requested.country++, ip === HERE.ip ? "DE" : undefined),
    clock,
    ...more,
  });
  return { access, clock, videos, keys, requested };
}

const token = (more: Partial<NewToken> = {}, key: KeyObject = pair.privateKey) =>
  signToken({ kid: KID, sub: PRIVATE, exp: NOW + 3600, nbf: NOW - 3600, ...more }, key);
const refused = (name: string, text?: RegExp) => (err: unknown) => {
  assert.ok(err instanceof UserError, String(err));
  assert.equal(err.kind, name, err.message);
  if (text !== undefined) assert.match(err.message, text);
  return true;
};

test("an unguarded video plays by its uid, and one that requires signed URLs does not", async () => {
  const { access } = setUp();
  assert.equal((await access.check(PUBLIC, "play", HERE)).uid, PUBLIC);
  for (const want of ["play", "page", "download", "original"] as AccessPurpose[])
    await assert.rejects(access.check(PRIVATE, want, HERE), refused("signedUrlNeeded"));
  for (const id of ["9".repeat(32), "favicon", "", PUBLIC.slice(1), `${PUBLIC}0`, "A".repeat(32)])
    await assert.rejects(access.check(id, "play", HERE), refused("videoNotFound"));
});

test("a token plays only the video it is issued for, and no video of another account", async () => {
  const { access } = setUp();
  assert.equal((await access.check(token(), "play", HERE)).uid, PRIVATE);
  assert.equal((await access.check(token({ sub: PUBLIC }), "play", HERE)).uid, PUBLIC);
  await assert.rejects(access.check(token({ sub: STRANGE }), "play", HERE), refused("tokenRefused", /another account/));
  await assert.rejects(access.check(token({ sub: "9".repeat(32) }), "play", HERE), refused("videoNotFound"));
});

test("forged tokens are rejected: with an unknown key, a foreign signature, no signature, or the public key as a shared secret", async () => {
  const { access } = setUp();
  await assert.rejects(
    access.check(token({ kid: "0".repeat(32) }), "play", HERE),
    refused("tokenRefused", /unknown or revoked/),
  );
  await assert.rejects(
    access.check(token({}, generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey), "play", HERE),
    refused("tokenRefused", /signature/),
  );
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = part({ sub: PRIVATE, exp: NOW + 60 });
  await assert.rejects(
    access.check(`${part({ alg: "none", kid: KID })}.${claims}.AA`, "play", HERE),
    refused("tokenRefused", /RS256/),
  );
  const signed = `${part({ alg: "HS256", kid: KID })}.${claims}`;
  const secret = pair.publicKey.export({ type: "spki", format: "pem" });
  await assert.rejects(
    access.check(`${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`, "play", HERE),
    refused("tokenRefused", /RS256/),
  );
  await assert.rejects(access.check("a.b.c", "play", HERE), refused("tokenRefused"));
});

test("an accepted token is rejected as soon as it expires", async () => {
  const { access, clock } = setUp();
  const text = token({ exp: NOW + 60 });
  await access.check(text, "play", HERE);
  clock.advance(64_000);
  await access.check(text, "play", HERE);
  clock.advance(1000);
  await assert.rejects(access.check(text, "play", HERE), refused("tokenRefused", /expired/));
  await assert.rejects(access.check(token({ nbf: NOW + 600 }), "play", HERE), refused("tokenRefused", /nbf/));
});

test("a token valid for more than a day is rejected unless the settings allow it", async () => {
  const long = token({ exp: NOW + 90_000 });
  await assert.rejects(setUp().access.check(long, "play", HERE), refused("tokenRefused", /24 hours/));
  await setUp({ tokenHours: 0 }).access.check(long, "play", HERE);
});

test("revoking a key invalidates its cached tokens immediately", async () => {
  const { access, keys } = setUp();
  const text = token();
  await access.check(text, "play", HERE);
  keys.delete(KID);
  await assert.rejects(access.check(text, "play", HERE), refused("tokenRefused", /revoked/));
  await assert.rejects(access.check(text, "play", HERE), refused("tokenRefused", /revoked/));
});

test("the video's current settings apply, not those at the time the token was cached", async () => {
  const { access, videos } = setUp();
  const text = token();
  await access.check(text, "play", HERE);
  videos.set(PRIVATE, { ...videos.get(PRIVATE)!, allowedOrigins: ["example.com"] });
  await assert.rejects(
    access.check(text, "play", { ...HERE, origin: "https://evil.example" }),
    refused("originNotAllowed", /evil/),
  );
  videos.delete(PRIVATE);
  await assert.rejects(access.check(text, "play", HERE), refused("videoNotFound"));
});

test("the rules of a cached token are evaluated for every viewer", async () => {
  const { access, requested } = setUp();
  const only = (rule: AccessRule) => token({ rules: [rule, { type: "any", action: "block" }] });
  const german = only({ type: "ip.geoip.country", action: "allow", country: ["DE"] });
  await access.check(german, "play", HERE);
  await assert.rejects(access.check(german, "play", { ip: "203.0.113.1" }), refused("tokenRefused", /access rules/));
  await access.check(german, "play", HERE);
  const net = only({ type: "ip.src", action: "allow", ip: ["198.51.100.0/24"] });
  const before = requested.country;
  await access.check(net, "play", HERE);
  await assert.rejects(access.check(net, "play", { ip: "2001:db8::1" }), refused("tokenRefused", /access rules/));
  assert.equal(requested.country, before);
});

test("downloads of a guarded video need a token with the download claim; those of an unguarded video need none", async () => {
  const { access } = setUp();
  await assert.rejects(access.check(token(), "download", HERE), refused("downloadNotAllowed"));
  await access.check(token({ downloadable: true }), "download", HERE);
  await access.check(PUBLIC, "download", HERE);
  await access.check(token({ sub: PUBLIC }), "download", HERE);
});

test("downloading the original file requires a token that allows it, or any download permission if the settings enable this", async () => {
  const { access } = setUp();
  await assert.rejects(access.check(PUBLIC, "original", HERE), refused("originalNotAllowed"));
  await assert.rejects(access.check(token({ downloadable: true }), "original", HERE), refused("originalNotAllowed"));
  await access.check(token({ original: true }), "original", HERE);
  await access.check(token({ sub: PUBLIC, original: true }), "original", HERE);
  const open = setUp({ originals: true }).access;
  await open.check(PUBLIC, "original", HERE);
  await open.check(token({ downloadable: true }), "original", HERE);
  await assert.rejects(open.check(token(), "original", HERE), refused("originalNotAllowed"));
});

test("unlisted pages are rejected with or without an origin, but requests from non-browser clients and the server's own pages are accepted", async () => {
  const { access, videos } = setUp();
  videos.set(PUBLIC, { ...videos.get(PUBLIC)!, allowedOrigins: ["example.com"] });
  await access.check(PUBLIC, "play", { ...HERE, origin: "https://example.com" });
  await access.check(PUBLIC, "play", HERE);
  await access.check(PUBLIC, "play", { ...HERE, origin: "https://videos.test", place: "ours" });
  for (const want of ["play", "page", "download"] as AccessPurpose[])
    await assert.rejects(
      access.check(PUBLIC, want, { ...HERE, origin: "https://evil.example" }),
      refused("originNotAllowed", /evil\.example/),
    );
  await assert.rejects(access.check(PUBLIC, "play", { ...HERE, origin: "null" }), refused("originNotAllowed"));
  await assert.rejects(
    access.check(PUBLIC, "play", { ...HERE, place: "hidden" }),
    refused("originNotAllowed", /does not reveal/),
  );
});

test("the token cache is bounded, and evicted tokens are verified again", async () => {
  const { access, requested } = setUp({ maxCachedTokens: 2 });
  const texts = [1, 2, 3].map((n) => token({ exp: NOW + n }));
  for (const text of [...texts, ...texts]) await access.check(text, "play", HERE);
  assert.equal(requested.key, 6);
});
