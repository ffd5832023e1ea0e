import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test, type TestContext } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { createManualClock, randomIds, type UserError } from "../../kernel/index.ts";
import { createSecrets } from "../../store/index.ts";
import { createSecretsStore, secretsStoreLimits, secretsStoreMigrations } from "./index.ts";
import type { NewSecret } from "./port.ts";
import type { SecretsStoreTables } from "./schema.ts";

const A = "a".repeat(32);
const B = "b".repeat(32);
const FIRST = { page: 1, perPage: 100 };
const secret = (name: string, more: Partial<NewSecret> = {}): NewSecret => ({
  name,
  value: `hidden text of ${name}`,
  scopes: ["workers"],
  ...more,
});

const refused = (kind: string) => (error: UserError) => {
  if (error.kind !== kind) throw error;
  assert.doesNotMatch(`${error.message} ${error.fix}`, /hidden text/);
  return true;
};

/** The Secrets Store on every database engine. */
export function secretsStoreConformance(engine: TestEngine): void {
  async function start(t: TestContext) {
    const { db } = await engine.open({ after: (end) => void t.after(end) }, secretsStoreMigrations);
    const clock = createManualClock(1_800_000_000_000);
    const store = createSecretsStore({
      db,
      secrets: createSecrets({ keys: [randomBytes(32)] }),
      clock,
      ids: randomIds,
    });
    return { db, clock, store };
  }

  describe("the Secrets Store", () => {
    test("stores belong to an account, have unique names and are deleted with their secrets only on request", async (t) => {
      const { store } = await start(t);
      const one = await store.createStore(A, "shared");
      assert.match(one.id, /^[0-9a-f]{32}$/);
      await store.createStore(B, "shared");
      await assert.rejects(store.createStore(A, "shared"), refused("storeNameTaken"));
      for (const name of ["", "a b", "é", "x".repeat(256)])
        await assert.rejects(store.createStore(A, name), refused("badName"));
      await assert.rejects(store.store(B, one.id), refused("storeMissing"));
      await assert.rejects(store.createSecrets(B, one.id, [secret("x")]), refused("storeMissing"));
      await store.createSecrets(A, one.id, [secret("x")]);
      assert.deepEqual(await store.count(A), { stores: 1, secrets: 1 });
      await assert.rejects(store.deleteStore(B, one.id, { force: true }), refused("storeMissing"));
      await assert.rejects(store.deleteStore(A, one.id), refused("storeNotEmpty"));
      await store.deleteStore(A, one.id, { force: true });
      assert.deepEqual(await store.count(A), { stores: 0, secrets: 0 });
      assert.equal(await store.valueOf(A, one.id, "x"), undefined);
    });

    test("values are encrypted, and only workers of the account that the scopes allow can read them", async (t) => {
      const { db, store } = await start(t);
      const { id } = await store.createStore(A, "shared");
      const [one, other] = await store.createSecrets(A, id, [secret("one"), secret("other", { scopes: ["access"] })]);
      assert.doesNotMatch(JSON.stringify([one, other]), /hidden text/);
      const rows = await db.tables<SecretsStoreTables>().selectFrom("store_secrets").selectAll().execute();
      assert.equal(rows.length, 2);
      assert.doesNotMatch(JSON.stringify(rows), /hidden text/);
      assert.equal(await store.valueOf(A, id, "one"), "hidden text of one");
      assert.equal(await store.valueOf(B, id, "one"), undefined);
      assert.equal(await store.valueOf(A, id, "other"), undefined);
      assert.deepEqual(
        [await store.isForWorkers(A, id, "one"), await store.isForWorkers(A, id, "other")],
        [true, false],
      );
      // A sealed value is bound to its secret.
      const sealed = rows.find(({ name }) => name === "other")!.value;
      await db.tables<SecretsStoreTables>().updateTable("store_secrets").set({ value: sealed }).execute();
      await assert.rejects(store.valueOf(A, id, "one"));
    });

    test("a change keeps what is not given; a duplicate has the hidden text of its original", async (t) => {
      const { clock, store } = await start(t);
      const { id } = await store.createStore(A, "shared");
      const [one] = await store.createSecrets(A, id, [secret("one", { comment: "first" })]);
      clock.advance(5000);
      const changed = await store.changeSecret(A, id, one!.id, { value: "hidden text of two" });
      assert.deepEqual(
        [changed.comment, changed.scopes, changed.modifiedAt.getTime() - changed.createdAt.getTime()],
        ["first", ["workers"], 5000],
      );
      assert.equal(await store.valueOf(A, id, "one"), "hidden text of two");
      await store.duplicateSecret(A, id, one!.id, { name: "copy", scopes: ["workers"] });
      await store.changeSecret(A, id, one!.id, { value: "hidden text of three", comment: "second" });
      assert.equal(await store.valueOf(A, id, "copy"), "hidden text of two");
      await assert.rejects(store.changeSecret(A, id, "0".repeat(32), {}), refused("secretMissing"));
      await assert.rejects(store.changeSecret(A, id, one!.id, { scopes: [] }), refused("badScopes"));
    });

    test("several secrets are created and deleted completely or not at all", async (t) => {
      const { store } = await start(t);
      const { id } = await store.createStore(A, "shared");
      const [one] = await store.createSecrets(A, id, [secret("one")]);
      for (const [bad, kind] of [
        [secret("one"), "secretNameTaken"],
        [secret("two"), "secretNameTaken"],
        [secret("a b"), "badName"],
        [secret("x", { value: "" }), "badValue"],
        [secret("x", { value: `hidden text of ${"x".repeat(secretsStoreLimits.valueBytes)}` }), "badValue"],
        [secret("x", { scopes: ["value"] }), "badScopes"],
        [secret("x", { comment: "x".repeat(1001) }), "commentTooLong"],
      ] as const)
        await assert.rejects(store.createSecrets(A, id, [secret("two"), bad]), refused(kind), kind);
      const many = Array.from({ length: secretsStoreLimits.secretsPerAccount }, (_, i) => secret(`s${i}`));
      await assert.rejects(store.createSecrets(A, id, many), refused("tooManySecrets"));
      assert.equal((await store.secrets(A, id, FIRST)).total, 1);
      await assert.rejects(store.deleteSecrets(A, id, [one!.id, "0".repeat(32)]), refused("secretMissing"));
      assert.equal((await store.secret(A, id, one!.id)).name, "one");
      await store.deleteSecrets(A, id, [one!.id]);
      assert.equal((await store.secrets(A, id, FIRST)).total, 0);
    });

    test("lists are ordered, filtered and paged", async (t) => {
      const { clock, store } = await start(t);
      const { id } = await store.createStore(A, "shared");
      await store.createSecrets(A, id, [secret("b", { scopes: ["workers", "access"] })]);
      clock.advance(1000);
      await store.createSecrets(A, id, [secret("a", { comment: "for Bob" }), secret("c")]);
      const names = async (
        ...options: Parameters<typeof store.secrets> extends [string, string, ...infer R] ? R : never
      ) => (await store.secrets(A, id, ...options)).items.map(({ name }) => name);
      assert.deepEqual(await names(FIRST), ["a", "b", "c"]);
      assert.deepEqual(await names(FIRST, { by: "name", direction: "desc" }), ["c", "b", "a"]);
      assert.deepEqual(await names(FIRST, { by: "created", direction: "asc" }), ["b", "a", "c"]);
      assert.deepEqual(await names({ page: 2, perPage: 2 }), ["c"]);
      assert.deepEqual(await names(FIRST, { search: "Bob" }), ["a"]);
      assert.deepEqual(await names(FIRST, { scopes: ["access", "workers"] }), ["b"]);
    });
  });
}
