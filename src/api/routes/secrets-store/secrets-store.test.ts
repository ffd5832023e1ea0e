import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createManualClock, randomIds } from "../../../kernel/index.ts";
import { createSecrets, migrate, openSqlite } from "../../../store/index.ts";
import { createSecretsStore, secretsStoreMigrations } from "../../../workers/index.ts";
import { startApi, TEST_ACCOUNT, type TestApi } from "../../api.testing.ts";
import { secretsStoreRoutes } from "./routes.ts";

const BASE = `/accounts/${TEST_ACCOUNT}/secrets_store`;
const VALUE = "do not show this value";

describe("operations of the Secrets Store", () => {
  const ends: (() => Promise<void>)[] = [];
  let api: TestApi;
  let stores = "";
  const texts: string[] = [];
  before(async () => {
    const folder = mkdtempSync(join(tmpdir(), "secrets-store-routes-"));
    const db = openSqlite({ path: join(folder, "test.db") });
    await migrate(db, secretsStoreMigrations);
    ends.push(async () => {
      await db.close();
      rmSync(folder, { recursive: true, force: true });
    });
    const clock = createManualClock(1_800_000_000_000);
    const secrets = createSecrets({ keys: [randomBytes(32)] });
    const store = createSecretsStore({ db, secrets, clock, ids: randomIds });
    api = await startApi({ after: (end) => void ends.push(end) }, { routes: secretsStoreRoutes({ store }), clock });
  });
  after(async () => {
    for (const end of ends.reverse()) await end();
  });

  async function call(method: string, path: string, body?: unknown) {
    const answer = await api.call(
      method,
      path.startsWith("/") ? path : `${BASE}/${path}`,
      body === undefined ? {} : { body },
    );
    texts.push(answer.text);
    return answer;
  }
  async function ok(method: string, path: string, body?: unknown) {
    const answer = await call(method, path, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.body.result;
  }
  async function fails(method: string, path: string, body?: unknown) {
    const answer = await call(method, path, body);
    return [answer.status, answer.body.errors[0].code];
  }

  it("create, get, list and delete a store", async () => {
    const made = await ok("post", "stores", { name: "shared" });
    assert.deepEqual([made.name, made.account_id, made.created], ["shared", TEST_ACCOUNT, made.modified]);
    stores = `stores/${made.id}`;
    assert.deepEqual(await ok("get", stores), made);
    assert.deepEqual(await ok("get", "stores?per_page=10&page=1"), [made]);
    assert.deepEqual(await ok("get", "stores?page=2"), []);
    assert.deepEqual(await fails("post", "stores", { name: "shared" }), [409, 1002]);
    const other = await ok("post", "stores", { name: "other" });
    assert.equal(await ok("delete", `stores/${other.id}`), null);
    assert.deepEqual(await fails("get", `stores/${other.id}`), [404, 1001]);
  });

  it("create, list, change, duplicate and delete secrets", async () => {
    const secrets = `${stores}/secrets`;
    const sent = { name: "API_KEY", value: VALUE, scopes: ["workers"], comment: "c" };
    const [made] = await ok("post", secrets, [sent]);
    assert.deepEqual(
      [made.name, made.scopes, made.comment, made.status, made.store_id, "value" in made],
      ["API_KEY", ["workers"], "c", "active", stores.slice(7), false],
    );
    assert.deepEqual(await ok("get", `${secrets}/${made.id}`), made);
    assert.deepEqual(await ok("get", `${secrets}?search=API_KEY`), [made]);
    assert.deepEqual(await ok("get", `${secrets}?scopes=workers,access`), []);
    const changed = await ok("patch", `${secrets}/${made.id}`, { value: `${VALUE} 2`, scopes: ["workers", "access"] });
    assert.deepEqual([changed.scopes, changed.comment], [["workers", "access"], "c"]);
    const copy = await ok("post", `${secrets}/${made.id}/duplicate`, { name: "copy", scopes: ["workers"] });
    assert.equal(copy.name, "copy");
    assert.deepEqual(await ok("get", "quota"), { secrets: { quota: 1000, usage: 2 } });
    assert.deepEqual(await fails("delete", stores), [409, 1003]);
    assert.equal(await ok("delete", `${secrets}/${made.id}`), null);
    assert.equal(await ok("delete", secrets, [{ id: copy.id }]), null);
    assert.deepEqual(await ok("get", secrets), []);
  });

  it("reject invalid requests without repeating a value", async () => {
    const secrets = `${stores}/secrets`;
    const sent = { name: "x", value: VALUE, scopes: ["workers"] };
    assert.deepEqual(await fails("post", secrets, [{ ...sent, scopes: ["everything"] }]), [400, 1010]);
    assert.deepEqual(await fails("post", secrets, [{ ...sent, name: VALUE.slice(0, 0) }]), [400, 1005]);
    assert.deepEqual(await fails("post", secrets, [sent, sent]), [409, 1007]);
    assert.equal((await call("post", secrets, [{ ...sent, value: [VALUE] }])).status, 400);
    assert.equal((await call("post", secrets, sent)).status, 400);
    assert.deepEqual(await fails("patch", `${secrets}/${"0".repeat(32)}`, { value: VALUE }), [404, 1006]);
    assert.doesNotMatch(texts.join("\n"), /do not show/);
  });
});
