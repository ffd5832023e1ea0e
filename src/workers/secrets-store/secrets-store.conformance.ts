import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test, type TestContext } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { createManualClock, randomIds, type UserError } from "../../kernel/index.ts";
import { createSecrets } from "../../store/index.ts";
import { createSecretsStore, secretsStoreLimits, secretsStoreMigrations } from "./index.ts";
import type { NewSecret } from "./port.ts";
import type { SecretsStoreTables } from "./schema.ts";

const ACCOUNT_A = "a".repeat(32);
const ACCOUNT_B = "b".repeat(32);
const FIRST_PAGE = { page: 1, perPage: 100 };
const secret = (name: string, fields: Partial<NewSecret> = {}): NewSecret => ({
  name,
  value: `hidden text of ${name}`,
  scopes: ["workers"],
  ...fields,
});

const rejectedWith = (kind: string) => (error: UserError) => {
  if (error.kind !== kind) throw error;
  assert.doesNotMatch(`${error.message} ${error.fix}`, /hidden text/);
  return true;
};

/** Behavior of the Secrets Store on every database engine. */
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
    test("stores belong to one account and have unique names, and a store with secrets is deleted only on request", async (t) => {
      const { store } = await start(t);
      const one = await store.createStore(ACCOUNT_A, "shared");
      assert.match(one.id, /^[0-9a-f]{32}$/);
      await store.createStore(ACCOUNT_B, "shared");
      await assert.rejects(store.createStore(ACCOUNT_A, "shared"), rejectedWith("storeNameTaken"));
      for (const name of ["", "a b", "é", "x".repeat(256)])
        await assert.rejects(store.createStore(ACCOUNT_A, name), rejectedWith("badName"));
      await assert.rejects(store.store(ACCOUNT_B, one.id), rejectedWith("storeMissing"));
      await assert.rejects(store.createSecrets(ACCOUNT_B, one.id, [secret("x")]), rejectedWith("storeMissing"));
      await store.createSecrets(ACCOUNT_A, one.id, [secret("x")]);
      assert.deepEqual(await store.count(ACCOUNT_A), { stores: 1, secrets: 1 });
      await assert.rejects(store.deleteStore(ACCOUNT_B, one.id, { force: true }), rejectedWith("storeMissing"));
      await assert.rejects(store.deleteStore(ACCOUNT_A, one.id), rejectedWith("storeNotEmpty"));
      await store.deleteStore(ACCOUNT_A, one.id, { force: true });
      assert.deepEqual(await store.count(ACCOUNT_A), { stores: 0, secrets: 0 });
      assert.equal(await store.valueOf(ACCOUNT_A, one.id, "x"), undefined);
    });

    test("values are encrypted, and only workers of the same account can read them, if the scopes allow it", async (t) => {
      const { db, store } = await start(t);
      const { id } = await store.createStore(ACCOUNT_A, "shared");
      const [one, other] = await store.createSecrets(ACCOUNT_A, id, [
        secret("one"),
        secret("other", { scopes: ["access"] }),
      ]);
      assert.doesNotMatch(JSON.stringify([one, other]), /hidden text/);
      const rows = await db.tables<SecretsStoreTables>().selectFrom("store_secrets").selectAll().execute();
      assert.equal(rows.length, 2);
      assert.doesNotMatch(JSON.stringify(rows), /hidden text/);
      assert.equal(await store.valueOf(ACCOUNT_A, id, "one"), "hidden text of one");
      assert.equal(await store.valueOf(ACCOUNT_B, id, "one"), undefined);
      assert.equal(await store.valueOf(ACCOUNT_A, id, "other"), undefined);
      assert.deepEqual(
        [await store.isForWorkers(ACCOUNT_A, id, "one"), await store.isForWorkers(ACCOUNT_A, id, "other")],
        [true, false],
      );
      // An encrypted value can only be decrypted for its own secret.
      const sealedValue = rows.find(({ name }) => name === "other")!.value;
      await db.tables<SecretsStoreTables>().updateTable("store_secrets").set({ value: sealedValue }).execute();
      await assert.rejects(store.valueOf(ACCOUNT_A, id, "one"));
    });

    test("an update keeps omitted fields, and a duplicate has the value of the original", async (t) => {
      const { clock, store } = await start(t);
      const { id } = await store.createStore(ACCOUNT_A, "shared");
      const [one] = await store.createSecrets(ACCOUNT_A, id, [secret("one", { comment: "first" })]);
      clock.advance(5000);
      const changedSecret = await store.changeSecret(ACCOUNT_A, id, one!.id, { value: "hidden text of two" });
      assert.deepEqual(
        [
          changedSecret.comment,
          changedSecret.scopes,
          changedSecret.modifiedAt.getTime() - changedSecret.createdAt.getTime(),
        ],
        ["first", ["workers"], 5000],
      );
      assert.equal(await store.valueOf(ACCOUNT_A, id, "one"), "hidden text of two");
      await store.duplicateSecret(ACCOUNT_A, id, one!.id, { name: "copy", scopes: ["workers"] });
      await store.changeSecret(ACCOUNT_A, id, one!.id, { value: "hidden text of three", comment: "second" });
      assert.equal(await store.valueOf(ACCOUNT_A, id, "copy"), "hidden text of two");
      await assert.rejects(store.changeSecret(ACCOUNT_A, id, "0".repeat(32), {}), rejectedWith("secretMissing"));
      await assert.rejects(store.changeSecret(ACCOUNT_A, id, one!.id, { scopes: [] }), rejectedWith("badScopes"));
    });

    test("creating and deleting several secrets is atomic", async (t) => {
      const { store } = await start(t);
      const { id } = await store.createStore(ACCOUNT_A, "shared");
      const [one] = await store.createSecrets(ACCOUNT_A, id, [secret("one")]);
      for (const [invalidSecret, kind] of [
        [secret("one"), "secretNameTaken"],
        [secret("two"), "secretNameTaken"],
        [secret("a b"), "badName"],
        [secret("x", { value: "" }), "badValue"],
        [secret("x", { value: `hidden text of ${"x".repeat(secretsStoreLimits.valueBytes)}` }), "badValue"],
        [secret("x", { scopes: ["value"] }), "badScopes"],
        [secret("x", { comment: "x".repeat(1001) }), "commentTooLong"],
      ] as const)
        await assert.rejects(
          store.createSecrets(ACCOUNT_A, id, [secret("two"), invalidSecret]),
          rejectedWith(kind),
          kind,
        );
      const manySecrets = Array.from({ length: secretsStoreLimits.secretsPerAccount }, (_, i) => secret(`s${i}`));
      await assert.rejects(store.createSecrets(ACCOUNT_A, id, manySecrets), rejectedWith("tooManySecrets"));
      assert.equal((await store.secrets(ACCOUNT_A, id, FIRST_PAGE)).total, 1);
      await assert.rejects(
        store.deleteSecrets(ACCOUNT_A, id, [one!.id, "0".repeat(32)]),
        rejectedWith("secretMissing"),
      );
      assert.equal((await store.secret(ACCOUNT_A, id, one!.id)).name, "one");
      await store.deleteSecrets(ACCOUNT_A, id, [one!.id]);
      assert.equal((await store.secrets(ACCOUNT_A, id, FIRST_PAGE)).total, 0);
    });

    test("lists are ordered, filtered and paged", async (t) => {
      const { clock, store } = await start(t);
      const { id } = await store.createStore(ACCOUNT_A, "shared");
      await store.createSecrets(ACCOUNT_A, id, [secret("b", { scopes: ["workers", "access"] })]);
      clock.advance(1000);
      await store.createSecrets(ACCOUNT_A, id, [secret("a", { comment: "for Bob" }), secret("c")]);
      const names = async (
        ...options: Parameters<typeof store.secrets> extends [string, string, ...infer R] ? R : never
      ) => (await store.secrets(ACCOUNT_A, id, ...options)).items.map(({ name }) => name);
      assert.deepEqual(await names(FIRST_PAGE), ["a", "b", "c"]);
      assert.deepEqual(await names(FIRST_PAGE, { field: "name", direction: "desc" }), ["c", "b", "a"]);
      assert.deepEqual(await names(FIRST_PAGE, { field: "created", direction: "asc" }), ["b", "a", "c"]);
      assert.deepEqual(await names({ page: 2, perPage: 2 }), ["c"]);
      assert.deepEqual(await names(FIRST_PAGE, { search: "Bob" }), ["a"]);
      assert.deepEqual(await names(FIRST_PAGE, { scopes: ["access", "workers"] }), ["b"]);
    });
  });
}
