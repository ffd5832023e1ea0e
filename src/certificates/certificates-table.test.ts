import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { onEveryDatabase, type TestEngine } from "../../test/support/databases.ts";
import { createCertificatesTable, createChallengeResponsesTable } from "./certificates-table.ts";
import { certificatesMigrations } from "./migrations.ts";

onEveryDatabase((engine: TestEngine) => {
  async function open(t: TestContext) {
    const { db, another } = await engine.open(t, certificatesMigrations);
    const table = createCertificatesTable(db);
    await table.ensureRows([{ id: "a", directory: "https://acme.example/dir", names: '["a.example"]', next_at: 1000 }]);
    return { table, other: createCertificatesTable(await another()), proofs: createChallengeResponsesTable(db) };
  }
  const issued = { chain: "chain", private_key: "sealed", not_after: 9000, next_at: 5000 };

  test("only the holder of the lease requests a certificate, until it finishes or the lease expires", async (t) => {
    const { table, other } = await open(t);
    assert.equal(await table.claim("a", "one", 999, 2000), undefined);
    const claims = await Promise.all([table.claim("a", "one", 1000, 2000), other.claim("a", "two", 1000, 2000)]);
    assert.equal(claims.filter((row) => row !== undefined).length, 1);
    const winner = claims[0] === undefined ? "two" : "one";
    assert.equal(await table.claim("a", "three", 2000, 3000), undefined);
    assert.equal((await table.claim("a", "three", 2001, 3000))?.lease, "three");
    // The slow process is still running; its result is discarded.
    assert.equal(await table.storeIssued("a", winner, issued), false);
    assert.equal(await table.storeFailure("a", winner, { next_at: 1, failures: 9, error: "no" }), false);
    assert.equal(await other.storeIssued("a", "three", issued), true);
    assert.equal(await table.claim("a", "four", 4999, 6000), undefined);
    assert.equal((await table.claim("a", "four", 5000, 6000))?.chain, "chain");
  });

  test("a failure keeps the previous certificate and stores the reason, which a success clears", async (t) => {
    const { table } = await open(t);
    await table.claim("a", "one", 1000, 2000);
    await table.storeIssued("a", "one", issued);
    await table.claim("a", "two", 5000, 6000);
    assert.equal(await table.storeFailure("a", "two", { next_at: 7000, failures: 1, error: "away" }), true);
    const [row] = await table.rows(["a", "none"]);
    assert.deepEqual(
      [row!.chain, row!.failures, row!.error, row!.lease, row!.next_at],
      ["chain", 1, "away", null, 7000],
    );
    await table.claim("a", "three", 7000, 8000);
    await table.storeIssued("a", "three", { ...issued, chain: "next" });
    const [after] = await table.rows(["a"]);
    assert.deepEqual([after!.chain, after!.failures, after!.error], ["next", 0, null]);
  });

  test("creates rows for wanted hosts once, and removes those of unwanted hosts after they expire", async (t) => {
    const { table } = await open(t);
    await table.claim("a", "one", 1000, 2000);
    await table.storeIssued("a", "one", issued);
    await table.ensureRows([
      { id: "a", directory: "d", names: "[]", next_at: 1 },
      { id: "b", directory: "d", names: "[]", next_at: 9000 },
      { id: "c", directory: "d", names: "[]", next_at: 1 },
    ]);
    assert.equal((await table.rows(["a"]))[0]!.chain, "chain");
    await table.forget(9000);
    assert.deepEqual(
      (await table.rows(["a", "b", "c"])).map(({ id }) => id).sort(),
      ["a", "b"],
      "certificates that were never issued are also deleted once no process requests them",
    );
    await table.ensureRows([{ id: "b2", directory: "d", names: "[]", next_at: 9500 }]);
    await table.forget(9001);
    assert.deepEqual(
      (await table.rows(["a", "b", "b2"])).map(({ id }) => id),
      ["b2"],
    );
    assert.deepEqual(await table.rows([]), []);
  });

  test("two processes that create an account concurrently use one account key", async (t) => {
    const { table, other } = await open(t);
    const [one, two] = await Promise.all([table.account("d", "first"), other.account("d", "second")]);
    assert.equal(one, two);
    assert.equal(await table.account("d", "third"), one);
    assert.equal(await table.account("e", "fourth"), "fourth");
  });

  test("a challenge response is served until it is removed or one hour old", async (t) => {
    const { proofs } = await open(t);
    await proofs.add("token", "token.print", 1000);
    await proofs.add("left", "left.print", 500);
    await proofs.add("token", "token.other", 1000);
    assert.equal(await proofs.find("token", 999), "token.other");
    assert.equal(await proofs.find("token", 1000), undefined);
    assert.equal(await proofs.find("none", 0), undefined);
    await proofs.remove("none", 500);
    assert.equal(await proofs.find("left", 0), undefined);
    await proofs.remove("token", 0);
    assert.equal(await proofs.find("token", 0), undefined);
  });
});
