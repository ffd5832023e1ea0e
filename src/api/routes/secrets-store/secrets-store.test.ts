import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createManualClock, randomIds } from "../../../kernel/index.ts";
import { createSecrets, migrate, openSqlite } from "../../../store/index.ts";
import { createSecretsStore, secretsStoreMigrations } from "../../../workers/secrets-store/index.ts";
import { startApi, TEST_ACCOUNT, type TestApi } from "../../api.testing.ts";
import { secretsStoreRoutes } from "./routes.ts";

const BASE = `/accounts/${TEST_ACCOUNT}/secrets_store`;
const SECRET_VALUE = "do not show this value";

describe("Secrets Store operations", () => {
  const cleanups: (() => Promise<void>)[] = [];
  let api: TestApi;
  let storePath = "";
  const responseTexts: string[] = [];
  before(async () => {
    const folder = mkdtempSync(join(tmpdir(), "secrets-store-routes-"));
    const db = openSqlite({ path: join(folder, "test.db") });
    await migrate(db, secretsStoreMigrations);
    cleanups.push(async () => {
      await db.close();
      rmSync(folder, { recursive: true, force: true });
    });
    const clock = createManualClock(1_800_000_000_000);
    const secrets = createSecrets({ keys: [randomBytes(32)] });
    const store = createSecretsStore({ db, secrets, clock, ids: randomIds });
    api = await startApi({ after: (end) => void cleanups.push(end) }, { routes: secretsStoreRoutes({ store }), clock });
  });
  after(async () => {
    for (const end of cleanups.reverse()) await end();
  });

  async function call(method: string, path: string, body?: unknown) {
    const response = await api.call(
      method,
      path.startsWith("/") ? path : `${BASE}/${path}`,
      body === undefined ? {} : { body },
    );
    responseTexts.push(response.text);
    return response;
  }
  async function ok(method: string, path: string, body?: unknown) {
    const response = await call(method, path, body);
    assert.equal(response.status, 200, response.text);
    return response.body.result;
  }
  async function errorOf(method: string, path: string, body?: unknown) {
    const response = await call(method, path, body);
    return [response.status, response.body.errors[0].code];
  }

  it("create, read, list and delete stores", async () => {
    const createdStore = await ok("post", "stores", { name: "shared" });
    assert.deepEqual(
      [createdStore.name, createdStore.account_id, createdStore.created],
      ["shared", TEST_ACCOUNT, createdStore.modified],
    );
    storePath = `stores/${createdStore.id}`;
    assert.deepEqual(await ok("get", storePath), createdStore);
    assert.deepEqual(await ok("get", "stores?per_page=10&page=1"), [createdStore]);
    assert.deepEqual(await ok("get", "stores?page=2"), []);
    assert.deepEqual(await errorOf("post", "stores", { name: "shared" }), [409, 1002]);
    const otherStore = await ok("post", "stores", { name: "other" });
    assert.equal(await ok("delete", `stores/${otherStore.id}`), null);
    assert.deepEqual(await errorOf("get", `stores/${otherStore.id}`), [404, 1001]);
  });

  it("create, list, update, duplicate and delete secrets", async () => {
    const secrets = `${storePath}/secrets`;
    const newSecret = { name: "API_KEY", value: SECRET_VALUE, scopes: ["workers"], comment: "c" };
    const [createdSecret] = await ok("post", secrets, [newSecret]);
    assert.deepEqual(
      [
        createdSecret.name,
        createdSecret.scopes,
        createdSecret.comment,
        createdSecret.status,
        createdSecret.store_id,
        "value" in createdSecret,
      ],
      ["API_KEY", ["workers"], "c", "active", storePath.slice(7), false],
    );
    assert.deepEqual(await ok("get", `${secrets}/${createdSecret.id}`), createdSecret);
    assert.deepEqual(await ok("get", `${secrets}?search=API_KEY`), [createdSecret]);
    assert.deepEqual(await ok("get", `${secrets}?scopes=workers,access`), []);
    const changedSecret = await ok("patch", `${secrets}/${createdSecret.id}`, {
      value: `${SECRET_VALUE} 2`,
      scopes: ["workers", "access"],
    });
    assert.deepEqual([changedSecret.scopes, changedSecret.comment], [["workers", "access"], "c"]);
    const copy = await ok("post", `${secrets}/${createdSecret.id}/duplicate`, { name: "copy", scopes: ["workers"] });
    assert.equal(copy.name, "copy");
    assert.deepEqual(await ok("get", "quota"), { secrets: { quota: 1000, usage: 2 } });
    assert.deepEqual(await errorOf("delete", storePath), [409, 1003]);
    assert.equal(await ok("delete", `${secrets}/${createdSecret.id}`), null);
    assert.equal(await ok("delete", secrets, [{ id: copy.id }]), null);
    assert.deepEqual(await ok("get", secrets), []);
  });

  it("reject invalid requests without including a secret value in the response", async () => {
    const secrets = `${storePath}/secrets`;
    const newSecret = { name: "x", value: SECRET_VALUE, scopes: ["workers"] };
    assert.deepEqual(await errorOf("post", secrets, [{ ...newSecret, scopes: ["everything"] }]), [400, 1010]);
    assert.deepEqual(await errorOf("post", secrets, [{ ...newSecret, name: SECRET_VALUE.slice(0, 0) }]), [400, 1005]);
    assert.deepEqual(await errorOf("post", secrets, [newSecret, newSecret]), [409, 1007]);
    assert.equal((await call("post", secrets, [{ ...newSecret, value: [SECRET_VALUE] }])).status, 400);
    assert.equal((await call("post", secrets, newSecret)).status, 400);
    assert.deepEqual(await errorOf("patch", `${secrets}/${"0".repeat(32)}`, { value: SECRET_VALUE }), [404, 1006]);
    assert.doesNotMatch(responseTexts.join("\n"), /do not show/);
  });
});
