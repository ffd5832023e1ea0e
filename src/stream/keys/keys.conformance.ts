import assert from "node:assert/strict";
import { createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
import { test, type TestContext } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { createManualClock, randomIds, silentLog, UserError } from "../../kernel/index.ts";
import { createLocalEvents, createSecrets } from "../../store/index.ts";
import { isPair, encodeJwk, encodePem, readPem } from "./forms.ts";
import { streamKeysMigrations } from "./keys-table.ts";
import { createSigningKeys } from "./keys.ts";

const A = "a".repeat(32);
const B = "b".repeat(32);

async function setUp(t: TestContext, engine: TestEngine, { max = 1000 } = {}) {
  const { db, another } = await engine.open(t, streamKeysMigrations);
  const clock = createManualClock(Date.UTC(2026, 10, 21));
  const events = createLocalEvents({ log: silentLog });
  const secrets = createSecrets({ keys: [Buffer.alloc(32, 7)] });
  const parts = { events, secrets, clock, ids: randomIds, max };
  const keys = createSigningKeys({ db, ...parts });
  t.after(async () => {
    keys.close();
    await events.close();
  });
  return { keys, clock, events, db, other: async () => createSigningKeys({ db: await another(), ...parts }) };
}

const kind = (name: string) => (err: unknown) => err instanceof UserError && err.kind === name;

export function signingKeysConformance(engine: TestEngine): void {
  test("a key signs data that can be verified with its public half, the only stored half", async (t) => {
    const { keys, db } = await setUp(t, engine);
    const made = await keys.create(A);
    const known = await keys.find(made.id);
    assert.equal(known?.account, A);
    assert.ok(verify("sha256", Buffer.from("x"), known.publicKey, sign("sha256", Buffer.from("x"), made.privateKey)));
    const rows = await db.read<Record<string, unknown>>(
      db.tables<{ stream_signing_keys: Record<string, unknown> }>().selectFrom("stream_signing_keys").selectAll(),
    );
    assert.ok(!JSON.stringify(rows).includes("PRIVATE"));
  });

  test("keys are listed oldest first, per account, and without the account's default key", async (t) => {
    const { keys, clock } = await setUp(t, engine);
    const first = await keys.create(A);
    clock.advance(1000);
    const second = await keys.create(A);
    await keys.create(B);
    await keys.own(A);
    assert.deepEqual(await keys.list(A), [
      { id: first.id, account: A, created: first.created },
      { id: second.id, account: A, created: second.created },
    ]);
  });

  test("the number of keys per account is limited", async (t) => {
    const { keys } = await setUp(t, engine, { max: 1 });
    const { id } = await keys.create(A);
    await keys.own(A);
    await assert.rejects(keys.create(A), kind("tooManyKeys"));
    await keys.create(B);
    await keys.delete(A, id);
    await keys.create(A);
  });

  test("a deleted key is unknown immediately, here and in processes that receive the event", async (t) => {
    const { keys, other } = await setUp(t, engine);
    const elsewhere = await other();
    t.after(async () => elsewhere.close());
    const { id } = await keys.create(A);
    assert.ok(await elsewhere.find(id));
    await assert.rejects(keys.delete(B, id), kind("keyNotFound"));
    await assert.rejects(keys.delete(A, "a\0"), kind("keyNotFound"));
    assert.ok(await keys.find(id));
    await keys.delete(A, id);
    assert.equal(await keys.find(id), undefined);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(await elsewhere.find(id), undefined);
    await assert.rejects(keys.delete(A, id), kind("keyNotFound"));
  });

  test("an account's default key is created once, even by concurrent callers, and created again after its deletion", async (t) => {
    const { keys, other } = await setUp(t, engine);
    const elsewhere = await other();
    t.after(async () => elsewhere.close());
    const [one, two, three] = await Promise.all([keys.own(A), elsewhere.own(A), keys.own(A)]);
    assert.equal(one.id, two.id);
    assert.equal(one.id, three.id);
    assert.ok(isPair(two.privateKey, (await keys.find(one.id))!.publicKey));
    assert.notEqual((await keys.own(B)).id, one.id);
    await keys.delete(A, one.id);
    const next = await keys.own(A);
    assert.notEqual(next.id, one.id);
    assert.equal(await keys.find(one.id), undefined);
  });

  test("malformed ids are not looked up", async (t) => {
    const { keys } = await setUp(t, engine);
    for (const id of ["", "x", "A".repeat(32), "../keys", "0".repeat(31)]) assert.equal(await keys.find(id), undefined);
  });

  test("both encodings of a key contain the same key", async (t) => {
    const { keys } = await setUp(t, engine);
    const { id, privateKey } = await keys.create(A);
    const pem = Buffer.from(encodePem(privateKey), "base64").toString();
    assert.match(pem, /^-----BEGIN RSA PRIVATE KEY-----\n/);
    assert.ok(createPrivateKey(pem).equals(privateKey));
    const jwk = JSON.parse(Buffer.from(encodeJwk(id, privateKey), "base64").toString());
    assert.deepEqual(Object.keys(jwk), ["use", "kty", "kid", "alg", "n", "e", "d", "p", "q", "dp", "dq", "qi"]);
    assert.equal(jwk.kid, id);
    assert.ok(createPrivateKey({ key: jwk, format: "jwk" }).equals(privateKey));
    for (const text of [pem, encodePem(privateKey), privateKey.export({ type: "pkcs8", format: "pem" }).toString()])
      assert.ok(readPem(text)?.equals(privateKey));
    for (const text of [
      "",
      "x",
      createPublicKey(pem).export({ type: "spki", format: "pem" }).toString(),
      "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----",
      "A".repeat(40_000),
    ])
      assert.equal(readPem(text), undefined);
  });
}
