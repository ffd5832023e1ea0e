import assert from "node:assert/strict";
import { createPrivateKey, createPublicKey, sign } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { createManualClock, randomIds, silentLog } from "../../../kernel/index.ts";
import { isSignedBy, readToken } from "../../../protocol/playback-token/index.ts";
import { createLocalEvents, createSecrets, migrate, openSqlite } from "../../../store/index.ts";
import { streamErrors, streamMigrations, type PlaybackTokens } from "../../../stream/index.ts";
import { createPlaybackTokens } from "../../../stream/tokens/index.ts";
import { createSigningKeys } from "../../../stream/keys/index.ts";
import { startApi, TEST_ACCOUNT } from "../../api.testing.ts";
import { streamKeysRoutes } from "./keys.ts";
import { streamTokenRoutes } from "./token.ts";

const UID = "e".repeat(32);
const NOW = 1_800_000_000;
const KEYS = `/accounts/${TEST_ACCOUNT}/stream/keys`;
const TOKEN = `/accounts/${TEST_ACCOUNT}/stream/${UID}/token`;

async function setUp(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "stream-keys-api-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, streamMigrations);
  const events = createLocalEvents({ log: silentLog });
  const clock = createManualClock(NOW * 1000);
  const keys = createSigningKeys({
    db,
    events,
    clock,
    ids: randomIds,
    secrets: createSecrets({ keys: [Buffer.alloc(32, 7)] }),
    max: 3,
  });
  // Returns the only video in this test.
  const get = async (_: string, uid: string) =>
    uid === UID
      ? ({ uid } as Awaited<ReturnType<Parameters<typeof createPlaybackTokens>[0]["videos"]["get"]>>)
      : Promise.reject(streamErrors.videoNotFound({ uid }));
  const tokens: PlaybackTokens = createPlaybackTokens({ videos: { get }, keys, clock });
  t.after(async () => {
    keys.close();
    await events.close();
    await db.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    ...(await startApi(t, { routes: [...streamKeysRoutes({ keys }), ...streamTokenRoutes({ tokens })] })),
    keys,
  };
}

test("a key is created, returned once in both formats, listed without its secrets, and deleted", async (t) => {
  const api = await setUp(t);
  const {
    status,
    body: { result },
  } = await api.call("POST", KEYS);
  assert.equal(status, 200);
  const pem = createPrivateKey(Buffer.from(result.pem, "base64"));
  assert.ok(
    createPublicKey({ key: JSON.parse(Buffer.from(result.jwk, "base64").toString()), format: "jwk" }).equals(
      createPublicKey(pem),
    ),
  );
  const second = await api.call("POST", KEYS, { body: {} });
  assert.equal(second.status, 200);
  const listed = await api.call("GET", KEYS);
  assert.deepEqual(Object.keys(listed.body.result[0]), ["id", "key_id", "created"]);
  assert.deepEqual(
    new Set(listed.body.result.map((key: { id: string }) => key.id)),
    new Set([result.id, second.body.result.id]),
  );
  assert.ok(!listed.text.includes("pem") && !("result_info" in listed.body));
  assert.deepEqual((await api.call("GET", KEYS, { query: { page: 2 } })).body.result, []);
  assert.equal((await api.call("DELETE", `${KEYS}/${result.id}`)).body.result, "ok");
  const gone = await api.call("DELETE", `${KEYS}/${result.id}`);
  assert.deepEqual(
    [gone.status, gone.body.errors[0].code, gone.body.errors[0].message.startsWith("Not Found")],
    [404, 10003, true],
  );
});

test("rejects a key above the maximum number and reports the limit", async (t) => {
  const api = await setUp(t);
  for (let n = 0; n < 3; n++) await api.call("POST", KEYS);
  const { status, body } = await api.call("POST", KEYS);
  assert.deepEqual([status, body.errors[0].code], [400, 10940]);
  assert.match(body.errors[0].message, /maximum of 3 signing keys/);
});

test("signs a token without a body, with claims, and with an account key, and accepts times as strings", async (t) => {
  const api = await setUp(t);
  const read = (text: string) => {
    const reading = readToken(text);
    assert.ok(reading.ok);
    return reading.token;
  };
  const plain = read((await api.call("POST", TOKEN)).body.result.token);
  assert.deepEqual([plain.claims.sub, plain.claims.exp, plain.claims.nbf], [UID, NOW + 3600, NOW - 3600]);
  assert.ok(isSignedBy(plain, (await api.keys.find(plain.claims.kid))!.publicKey));
  assert.ok(
    isSignedBy(
      read((await api.call("POST", TOKEN, { body: {} })).body.result.token),
      (await api.keys.find(plain.claims.kid))!.publicKey,
    ),
  );

  const { id, pem } = (await api.call("POST", KEYS)).body.result;
  const requested = read(
    (
      await api.call("POST", TOKEN, {
        body: {
          id,
          pem,
          exp: String(NOW + 60),
          nbf: NOW,
          downloadable: true,
          flags: { original: true },
          accessRules: [{ type: "ip.src", action: "block", ip: ["10.0.0.0/8"] }],
        },
      })
    ).body.result.token,
  );
  assert.deepEqual(requested.claims, {
    kid: id,
    sub: UID,
    exp: NOW + 60,
    nbf: NOW,
    downloadable: true,
    original: true,
  });
  assert.deepEqual(requested.rules, [{ type: "ip.src", action: "block", ip: ["10.0.0.0/8"] }]);
  // A token that a client signs with the PEM key is equivalent.
  assert.ok(
    isSignedBy(
      {
        ...requested,
        signature: sign("sha256", Buffer.from(requested.signingInput), Buffer.from(pem, "base64").toString()),
      },
      (await api.keys.find(id))!.publicKey,
    ),
  );
});

test("rejects invalid claims with the reason", async (t) => {
  const api = await setUp(t);
  const refusal = async (body: unknown, path = TOKEN) => {
    const {
      status,
      body: { errors },
    } = await api.call("POST", path, { body });
    return [status, errors[0].code, errors[0].message];
  };
  assert.deepEqual((await refusal({ exp: NOW + 100_000 })).slice(0, 2), [400, 10005]);
  assert.deepEqual((await refusal({ id: "x" })).slice(0, 2), [400, 10005]);
  assert.match(
    (await refusal({ accessRules: [{ type: "ip.src", action: "block", ip: ["10.0.0.0/40"] }] }))[2],
    /accessRules\[0\]\.ip\[0\]/,
  );
  assert.match(
    (await refusal({ accessRules: Array.from({ length: 6 }, () => ({ type: "any", action: "block" })) }))[2],
    /at most 5/,
  );
  for (const body of [
    { exp: -1 },
    { exp: 1.5 },
    { exp: "tomorrow" },
    { downloadable: "yes" },
    { accessRules: [{ type: "all", action: "block" }] },
    [],
  ])
    assert.deepEqual((await refusal(body)).slice(0, 2), [400, 10005], JSON.stringify(body));
  assert.equal((await refusal({}, TOKEN.replace(UID, "9".repeat(32))))[0], 404);
});
