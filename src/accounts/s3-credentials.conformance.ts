import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import type { TestEngine } from "../../test/support/databases.ts";
import { createManualClock, randomIds, silentLog } from "../kernel/index.ts";
import { createLocalEvents, createSecrets, migrate } from "../store/index.ts";
import { expectErrorKind, setUp } from "./accounts.testing.ts";
import { createAccounts } from "./create.ts";
import { accountsMigrations } from "./migrations.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const newSecrets = () => createSecrets({ keys: [randomBytes(32)] });

/** Tests the access keys of the S3 API on every database engine. */
export function s3CredentialsConformance(engine: TestEngine): void {
  describe("S3 credentials", () => {
    test("consist of the id of a token and the SHA-256 hash of its value", async (t) => {
      const { module, first, admin, reader, mine } = await setUp(engine, t, { secrets: newSecrets() });
      const { token, value } = await module.tokens.create(mine, reader, admin);
      const credentials = (await module.s3Credentials(token.id))!;
      assert.equal(credentials.secret, sha256(value));
      assert.ok(credentials.caller.allows("Stream Read", { account: first.account.id }));
      assert.ok(!credentials.caller.allows("Stream Write", { account: first.account.id }));
      const firstToken = (await module.s3Credentials(admin.tokenId))!;
      assert.equal(firstToken.secret, sha256(first.token));
      assert.equal(await module.s3Credentials("0".repeat(32)), undefined);
    });

    test("cannot be read from the database", async (t) => {
      const { db, module, admin, reader, mine } = await setUp(engine, t, { secrets: newSecrets() });
      const { value } = await module.tokens.create(mine, reader, admin);
      const rows = JSON.stringify(
        await db.tables<{ tokens: Record<string, unknown> }>().selectFrom("tokens").selectAll().execute(),
      );
      const secret = sha256(value);
      for (const encoding of [
        secret,
        Buffer.from(secret, "hex").toString("base64url"),
        Buffer.from(secret, "hex").toString("base64"),
      ])
        assert.ok(!rows.includes(encoding));
    });

    test("stop working when their token stops working", async (t) => {
      const { module, clock, admin, reader, mine } = await setUp(engine, t, { secrets: newSecrets() });
      const { token } = await module.tokens.create(
        mine,
        { ...reader, expiresAt: clock.now() + 60_000, ip: { in: ["192.0.2.0/24"] } },
        admin,
      );
      assert.ok(await module.s3Credentials(token.id, "192.0.2.1"));
      await assert.rejects(module.s3Credentials(token.id, "198.51.100.1"), expectErrorKind("wrongAddress"));
      const rolledValue = await module.tokens.roll(mine, token.id, admin);
      assert.equal((await module.s3Credentials(token.id, "192.0.2.1"))!.secret, sha256(rolledValue));
      clock.advance(60_000);
      assert.equal(await module.s3Credentials(token.id, "192.0.2.1"), undefined);
      const other = await module.tokens.create(mine, reader, admin);
      assert.ok(await module.s3Credentials(other.token.id));
      await module.tokens.delete(mine, other.token.id);
      assert.equal(await module.s3Credentials(other.token.id), undefined);
    });

    test("count as used only after a signature has been verified", async (t) => {
      const { module, admin, reader, mine } = await setUp(engine, t, { secrets: newSecrets() });
      const { token } = await module.tokens.create(mine, reader, admin);
      const lastUsed = async () => {
        await module.flush();
        return (await module.tokens.get(mine, token.id)).lastUsedAt;
      };
      const credentials = (await module.s3Credentials(token.id))!;
      assert.equal(await lastUsed(), null);
      credentials.recordUse();
      assert.notEqual(await lastUsed(), null);
    });

    test("exist for a token from an older database once the token has been used", async (t) => {
      const { db } = await engine.open(t);
      await migrate(db, accountsMigrations.slice(0, 1));
      const value = "v".repeat(40);
      const [id, user] = ["1".repeat(32), "2".repeat(32)];
      const tables = db.tables<Record<"users" | "tokens", Record<string, unknown>>>();
      await tables
        .insertInto("users")
        .values({
          id: user,
          email: "a@b.example",
          email_key: "a@b.example",
          created_at: 1,
          global_key_hash: createHash("sha256").update("the global key").digest("base64url"),
        })
        .execute();
      await tables
        .insertInto("tokens")
        .values({
          id,
          user_id: user,
          created_by: user,
          name: "old",
          value_hash: createHash("sha256").update(value).digest("base64url"),
          status: "active",
          policies: "[]",
          issued_at: 1,
          modified_at: 1,
        })
        .execute();
      await migrate(db, accountsMigrations);
      const events = createLocalEvents({ log: silentLog });
      const clock = createManualClock(Date.UTC(2030, 0, 1));
      const module = createAccounts({ db, clock, ids: randomIds, events, log: silentLog, secrets: newSecrets() });
      t.after(() => module.close());
      assert.equal(await module.s3Credentials(id), undefined);
      assert.equal((await module.authenticate({ secret: value }))?.tokenId, id);
      assert.equal((await module.s3Credentials(id))?.secret, sha256(value));
      assert.ok(await module.authenticate({ secret: "the global key", email: "a@b.example" }));
    });
  });
}
