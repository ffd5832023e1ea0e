import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import type { BindingTargets, Upload } from "./port.ts";
import { type ScriptsTables } from "./schema.ts";
import type { Binding } from "./script.ts";
import { author, uploadOf } from "./scripts.testing.ts";
import { A, B, KEEP_SECRETS, code, says, start, email, secretsOf } from "./conformance.testing.ts";

/** Behavior of bindings and secrets on every database engine. */
export function bindingsConformance(engine: TestEngine): void {
  describe("bindings and secrets of versions", () => {
    test("rejects a binding to a resource that does not exist in the account, with the code of its kind", async (t) => {
      const targets: BindingTargets = {
        kvNamespace: async (account, id) => account === A && id === "mine",
        r2Bucket: async (_, name) => name === "mine",
        d1Database: async (_, id) => id === "mine",
        worker: async (account, name) => account === A && name === "mine",
        queue: async (_, name) => name === "mine",
        storedSecret: async (_, store, name) => store === "s" && name === "mine",
      };
      const { scripts } = await start(engine, t, { targets });
      const bound = (binding: Binding) => scripts.upload(A, "m", uploadOf("fetch", { bindings: [binding] }), author);
      await assert.rejects(
        bound({ type: "service", name: "API", service: "other" }),
        says(10143, /^Could not resolve service binding 'API'\. Target script 'other' not found\./),
      );
      await assert.rejects(
        bound({ type: "kv_namespace", name: "KV", namespace_id: "other" }),
        says(10041, /^KV namespace 'other' not found\.$/),
      );
      await assert.rejects(
        bound({ type: "r2_bucket", name: "R", bucket_name: "other" }),
        says(10085, /^R2 bucket 'other' not found\./),
      );
      await assert.rejects(
        bound({ type: "d1", name: "DB", id: "other" }),
        says(10181, /^D1 binding 'DB' references database 'other' which was not found\.$/),
      );
      await assert.rejects(
        bound({ type: "queue", name: "Q", queue_name: "other" }),
        says(11000, /^Queue 'other' not found\.$/),
      );
      await assert.rejects(
        bound({ type: "secrets_store_secret", name: "S", store_id: "s", secret_name: "other" }),
        says(10182, /^Secrets Store binding 'S' references secret 'other' of store 's', which was not found\.$/),
      );
      assert.equal(await scripts.get(A, "m"), undefined);
      await bound({ type: "service", name: "API", service: "mine" });
      await bound({ type: "service", name: "SELF", service: "m" });
      await bound({ type: "kv_namespace", name: "KV", namespace_id: "mine" });
      await assert.rejects(
        scripts.upload(
          B,
          "m",
          uploadOf("fetch", { bindings: [{ type: "kv_namespace", name: "KV", namespace_id: "mine" }] }),
          author,
        ),
        code(10041),
      );
    });

    test("secrets are encrypted, decrypted only for the runtime, and carried over on request", async (t) => {
      const fixture = await start(engine, t);
      const { scripts, db } = fixture;
      const { version } = await scripts.upload(
        A,
        "mail",
        uploadOf("email", {
          bindings: [
            { type: "secret_text", name: "KEY", text: "hunter2" },
            { type: "plain_text", name: "HOST", text: "example.com" },
          ],
        }),
        author,
      );
      assert.deepEqual(version.bindings, [
        { type: "secret_text", name: "KEY", text: "" },
        { type: "plain_text", name: "HOST", text: "example.com" },
      ]);
      assert.deepEqual(secretsOf(fixture, version.id), { KEY: "hunter2" });
      const rows = await db.tables<ScriptsTables>().selectFrom("worker_versions").selectAll().execute();
      assert.ok(!JSON.stringify(rows).includes("hunter2"));

      const kept = (await scripts.upload(A, "mail", uploadOf("email 2", KEEP_SECRETS), author)).version;
      assert.deepEqual(
        [kept.bindings.map(({ name }) => name), secretsOf(fixture, kept.id), await scripts.secrets(A, "mail")],
        [["KEY"], { KEY: "hunter2" }, ["KEY"]],
      );
      // A binding in the upload takes precedence over a carried-over one.
      const named = (
        await scripts.upload(
          A,
          "mail",
          uploadOf("email 3", { ...KEEP_SECRETS, bindings: [{ type: "plain_text", name: "KEY", text: "open" }] }),
          author,
        )
      ).version;
      assert.deepEqual(named.bindings, [{ type: "plain_text", name: "KEY", text: "open" }]);
      assert.deepEqual((await scripts.upload(A, "mail", uploadOf("email 4"), author)).version.bindings, []);
    });

    test("bindings can be inherited under another name and from another version", async (t) => {
      const fixture = await start(engine, t);
      const { scripts } = fixture;
      const first = (
        await scripts.upload(
          A,
          "mail",
          uploadOf("email", {
            bindings: [
              { type: "secret_text", name: "KEY", text: "s" },
              { type: "json", name: "J", json: { a: 1 } },
            ],
          }),
          author,
        )
      ).version;
      const strict = (bindings: Upload["bindings"]) =>
        scripts.upload(A, "mail", uploadOf("email 2", { bindings, inheritStrictly: true }), author);
      const second = (
        await strict([
          { type: "inherit", name: "NEW", oldName: "KEY" },
          { type: "inherit", name: "J" },
        ])
      ).version;
      assert.deepEqual(
        [second.bindings.map(({ name, type }) => [name, type]), secretsOf(fixture, second.id)],
        [
          [
            ["NEW", "secret_text"],
            ["J", "json"],
          ],
          { NEW: "s" },
        ],
      );
      await assert.rejects(
        strict([{ type: "inherit", name: "KEY" }]),
        says(10057, /inherit binding 'KEY' is invalid: the latest version has no binding 'KEY'/),
      );
      const third = (await strict([{ type: "inherit", name: "KEY", versionId: first.id }])).version;
      assert.deepEqual(secretsOf(fixture, third.id), { KEY: "s" });
      const other = (await scripts.upload(A, "other", uploadOf("email"), author)).version;
      await assert.rejects(strict([{ type: "inherit", name: "KEY", versionId: other.id }]), code(10057));
      assert.deepEqual(
        (
          await scripts.upload(
            A,
            "mail",
            uploadOf("email 3", { bindings: [{ type: "inherit", name: "GONE" }] }),
            author,
          )
        ).version.bindings,
        [],
      );
    });

    test("changing secrets creates a version from the newest one and deploys it", async (t) => {
      const fixture = await start(engine, t);
      const { scripts, live } = fixture;
      await scripts.upload(
        A,
        "mail",
        uploadOf("email", { bindings: [{ type: "plain_text", name: "VAR", text: "v" }] }),
        author,
      );
      const one = await scripts.changeSecrets(A, "mail", { A: "1", B: "2" }, author);
      assert.deepEqual(
        [one.number, one.annotations["workers/triggered_by"], await email({ live }), secretsOf(fixture, one.id)],
        [2, "secret", one.id, { A: "1", B: "2" }],
      );
      assert.deepEqual(
        one.bindings.map(({ name }) => name),
        ["VAR", "A", "B"],
      );
      const two = await scripts.changeSecrets(A, "mail", { A: null, B: "3" }, author);
      assert.deepEqual([await scripts.secrets(A, "mail"), secretsOf(fixture, two.id)], [["B"], { B: "3" }]);
      await assert.rejects(
        scripts.changeSecrets(A, "mail", { A: null }, author),
        says(10056, /^Binding 'A' not found\.$/),
      );
      await assert.rejects(
        scripts.changeSecrets(A, "mail", { VAR: "x" }, author),
        says(10053, /^Binding name 'VAR' already in use\.$/),
      );
      await assert.rejects(scripts.changeSecrets(A, "none", { A: "x" }, author), code(10007));
      assert.equal((await scripts.get(A, "mail"))!.latest!.id, two.id);

      const waiting = await scripts.changeSecrets(A, "mail", { C: "4" }, author, {
        deploy: false,
        annotations: { "workers/message": "later" },
      });
      assert.deepEqual([await email({ live }), waiting.annotations["workers/message"]], [two.id, "later"]);
      // Undeployed code must not go live because a secret changed.
      await assert.rejects(scripts.changeSecrets(A, "mail", { D: "5" }, author), code(10215));
    });

    test("a worker without code can have secrets, and its first upload uses them", async (t) => {
      const fixture = await start(engine, t);
      const { scripts, live } = fixture;
      const { id } = await scripts.create(A, "mail", author);
      assert.equal((await scripts.create(A, "mail", author)).id, id);
      const draft = await scripts.changeSecrets(A, "mail", { KEY: "s" }, author);
      assert.deepEqual(
        [await scripts.secrets(A, "mail"), (await scripts.get(A, "mail"))!.live, await email({ live })],
        [["KEY"], undefined, undefined],
      );
      const { script, version } = await scripts.upload(A, "mail", uploadOf("email", KEEP_SECRETS), author);
      assert.deepEqual(
        [script.id, draft.number, version.number, secretsOf(fixture, version.id)],
        [id, 1, 2, { KEY: "s" }],
      );
    });
  });
}
