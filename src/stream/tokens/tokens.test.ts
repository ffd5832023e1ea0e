import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { createManualClock, UserError } from "../../kernel/index.ts";
import { isSignedBy, readToken } from "../../protocol/playback-token/index.ts";
import { streamErrors } from "../errors.ts";
import { encodePem } from "../keys/forms.ts";
import { testVideo } from "../videos/videos.testing.ts";
import { createPlaybackTokens, type PlaybackTokenRequest } from "./tokens.ts";

const ACCOUNT = "a".repeat(32);
const UID = "e".repeat(32);
const OWN = "0".repeat(32);
const KEY = "1".repeat(32);
const FOREIGN = "2".repeat(32);
const NOW = 1_800_000_000;
const own = generateKeyPairSync("rsa", { modulusLength: 2048 });
const named = generateKeyPairSync("rsa", { modulusLength: 2048 });

function setUp(tokenHours?: number) {
  const keys = new Map([
    [KEY, { account: ACCOUNT, publicKey: named.publicKey }],
    [FOREIGN, { account: "b".repeat(32), publicKey: named.publicKey }],
  ]);
  const tokens = createPlaybackTokens({
    videos: {
      get: async (account, uid) =>
        account === ACCOUNT && uid === UID
          ? testVideo({ uid, account })
          : Promise.reject(streamErrors.videoNotFound({ uid })),
    },
    keys: { find: async (id) => keys.get(id), own: async () => ({ id: OWN, privateKey: own.privateKey }) },
    clock: createManualClock(NOW * 1000 + 700),
    ...(tokenHours !== undefined && { tokenHours }),
  });
  const sign = async (request?: PlaybackTokenRequest) => {
    const reading = readToken(await tokens.sign(ACCOUNT, UID, request));
    assert.ok(reading.ok);
    return reading.token;
  };
  return { tokens, sign };
}

const refused = (name: string, text: RegExp) => (err: unknown) =>
  err instanceof UserError && err.kind === name && text.test(err.message + (err.fix ?? ""));

test("a token without options is valid for one hour, with nbf one hour ago, is signed with the account's default key, and has integer times", async () => {
  const token = await setUp().sign();
  assert.deepEqual(token.claims, {
    kid: OWN,
    sub: UID,
    exp: NOW + 3600,
    nbf: NOW - 3600,
    downloadable: false,
    original: false,
  });
  assert.ok(isSignedBy(token, own.publicKey));
});

test("a token contains the requested claims", async () => {
  const accessRules = [
    { type: "ip.geoip.country", action: "allow", country: ["DE"] },
    { type: "any", action: "block" },
  ];
  const token = await setUp().sign({ exp: NOW + 60, nbf: NOW, downloadable: true, original: true, accessRules });
  assert.deepEqual(token.claims, { kid: OWN, sub: UID, exp: NOW + 60, nbf: NOW, downloadable: true, original: true });
  assert.deepEqual(token.rules, accessRules);
});

test("an account key signs only if its id and its pem are both given and match", async () => {
  const { sign, tokens } = setUp();
  const token = await sign({ id: KEY, pem: encodePem(named.privateKey) });
  assert.equal(token.claims.kid, KEY);
  assert.ok(isSignedBy(token, named.publicKey));
  const all = (request: PlaybackTokenRequest) => tokens.sign(ACCOUNT, UID, request);
  await assert.rejects(all({ id: KEY }), refused("badParameter", /used together/));
  await assert.rejects(all({ pem: encodePem(named.privateKey) }), refused("badParameter", /used together/));
  await assert.rejects(all({ id: KEY, pem: "nonsense" }), refused("badParameter", /not a private RSA key/));
  await assert.rejects(
    all({ id: KEY, pem: encodePem(own.privateKey) }),
    refused("badParameter", /not the private key/),
  );
  await assert.rejects(all({ id: FOREIGN, pem: encodePem(named.privateKey) }), refused("keyNotFound", /222/));
  await assert.rejects(all({ id: "9".repeat(32), pem: encodePem(named.privateKey) }), refused("keyNotFound", /999/));
});

test("rejects an exp in the past", async () => {
  const { tokens, sign } = setUp();
  for (const exp of [0, -1, NOW - 86_400, NOW - 1, NOW])
    await assert.rejects(
      tokens.sign(ACCOUNT, UID, { exp, nbf: -10 }),
      refused("badParameter", /has passed/),
      String(exp),
    );
  await sign({ exp: NOW + 1 });
});

test("rejects an exp more than a day ahead, an nbf after exp, invalid rules and unknown videos", async () => {
  const { tokens, sign } = setUp();
  await sign({ exp: NOW + 86_400 });
  await assert.rejects(
    tokens.sign(ACCOUNT, UID, { exp: NOW + 86_500 }),
    refused("badParameter", new RegExp(`the maximum is ${NOW + 86_400}`)),
  );
  await assert.rejects(tokens.sign(ACCOUNT, UID, { exp: (NOW + 60) * 1000 }), refused("badParameter", /in seconds/));
  await assert.rejects(
    tokens.sign(ACCOUNT, UID, { exp: NOW + 60, nbf: NOW + 60 }),
    refused("badParameter", /not before/),
  );
  await assert.rejects(
    tokens.sign(ACCOUNT, UID, { accessRules: [{ type: "any", action: "deny" }] }),
    refused("badParameter", /accessRules\[0\]/),
  );
  await assert.rejects(tokens.sign("b".repeat(32), UID), refused("videoNotFound", /./));
  await setUp(0).sign({ exp: NOW + 1e7 });
});
