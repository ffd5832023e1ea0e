import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { mailOf, noActions } from "../runtime/runtime.testing.ts";
import type { Upload } from "./port.ts";
import { type ScriptsTables } from "./schema.ts";
import { author, storedModules, uploadOf } from "./scripts.testing.ts";
import { A, B, code, says, start, email } from "./conformance.testing.ts";

/** Behavior of scripts on every database engine. */
export function scriptsConformance(engine: TestEngine): void {
  describe("scripts", () => {
    test("an upload creates script, version and deployment, and goes live", async (t) => {
      const { scripts, live, fake } = await start(engine, t);
      const { script, version, deployment } = await scripts.upload(
        A,
        "mail",
        uploadOf("email fetch", { annotations: { "workers/message": "first" }, settings: { tags: ["x"] } }),
        author,
      );
      assert.match(script.id, /^[0-9a-f]{32}$/);
      assert.deepEqual(
        [version.number, version.handlers, version.scriptId, version.script, version.account, version.author],
        [1, ["email", "fetch"], script.id, "mail", A, author],
      );
      assert.deepEqual(version.annotations, { "workers/triggered_by": "upload", "workers/message": "first" });
      assert.deepEqual(deployment.versions, [{ versionId: version.id, percentage: 100 }]);
      assert.equal(version.compatibilityDate, "2021-11-02");
      assert.deepEqual(script.tags, ["x"]);
      assert.deepEqual(await scripts.get(A, "mail"), script);
      assert.deepEqual(await scripts.byId(A, script.id), script);
      assert.deepEqual(script.latest, version);
      assert.deepEqual(script.live, deployment);
      assert.deepEqual(await scripts.version(A, "mail", version.id), version);
      assert.deepEqual(await scripts.deployment(A, "mail", deployment.id), deployment);
      assert.deepEqual(
        (await scripts.modules(version)).map(({ name, content, contentType }) => [name, content, contentType]),
        [["index.js", "email fetch", "application/javascript+module"]],
      );
      assert.equal(await email({ live }), version.id);
      assert.deepEqual([...fake.known.keys()], [`${A}/${script.id}/${version.id}`]);
    });

    test("accounts are isolated from each other", async (t) => {
      const { scripts, live } = await start(engine, t);
      const { script, version } = await scripts.upload(A, "mail", uploadOf("email"), author);
      assert.equal(await scripts.get(B, "mail"), undefined);
      assert.equal(await scripts.byId(B, script.id), undefined);
      assert.equal((await scripts.list(B)).total, 0);
      await assert.rejects(scripts.versions(B, "mail", { page: 1, perPage: 10 }), code(10007));
      await scripts.upload(B, "mail", uploadOf("email"), author);
      assert.equal(await scripts.version(B, "mail", version.id), undefined);
      assert.notEqual((await live.email({ account: B, script: "mail" }, mailOf(), noActions)).rejected, version.id);
      await assert.rejects(
        scripts.deploy(B, "mail", { versions: [{ versionId: version.id, percentage: 100 }] }, author),
        code(10146),
      );
    });

    test("lists end with a last page", async (t) => {
      const { scripts } = await start(engine, t);
      for (const name of ["c", "a", "b"]) await scripts.upload(A, name, uploadOf("fetch"), author);
      const names = async (page?: number) =>
        (await scripts.list(A, page === undefined ? undefined : { page, perPage: 2 })).items.map(({ name }) => name);
      assert.deepEqual(
        [await names(), await names(1), await names(2), await names(3)],
        [["a", "b", "c"], ["a", "b"], ["c"], []],
      );
      for (let i = 0; i < 3; i++) await scripts.upload(A, "a", uploadOf(`fetch ${i}`), author);
      const numbers = async (page: number) =>
        (await scripts.versions(A, "a", { page, perPage: 3 })).items.map(({ number }) => number);
      assert.deepEqual([await numbers(1), await numbers(2), await numbers(3)], [[4, 3, 2], [1], []]);
      const deployments = await scripts.deployments(A, "a");
      assert.equal(deployments.total, 4);
      assert.deepEqual(deployments.items[0], (await scripts.get(A, "a"))!.live);
    });

    test("code that does not start changes nothing", async (t) => {
      const { scripts, live, objects, fake } = await start(engine, t);
      await assert.rejects(scripts.upload(A, "mail", uploadOf("throws"), author), code(10021));
      assert.equal(await scripts.get(A, "mail"), undefined);
      assert.deepEqual([await storedModules(objects), [...fake.known.keys()]], [[], []]);
      const { version } = await scripts.upload(A, "mail", uploadOf("email"), author);
      await assert.rejects(scripts.upload(A, "mail", uploadOf("throws email"), author), code(10021));
      await assert.rejects(scripts.createVersion(A, "mail", uploadOf("throws email"), author), code(10021));
      assert.deepEqual([(await scripts.get(A, "mail"))!.latest, await email({ live })], [version, version.id]);
    });

    const refusals: [what: string, name: string, upload: Upload, wanted: number, words: RegExp][] = [
      ["a name with uppercase letters", "Mail", uploadOf(""), 10016, /"Mail" is not a valid name/],
      ["a name of 64 characters", "m".repeat(64), uploadOf(""), 10016, /not a valid name/],
      ["no main module", "m", uploadOf("", { main: "other.js" }), 10021, /No such module "other\.js"/],
      [
        "a main module that is text",
        "m",
        uploadOf("", { modules: [{ name: "index.js", kind: "text", contentType: "text/plain", content: "" }] }),
        10021,
        /is text, not an ES module/,
      ],
      [
        "two modules with the same name",
        "m",
        uploadOf("", { modules: [...uploadOf("").modules, ...uploadOf("").modules] }),
        10021,
        /two modules named "index\.js"/,
      ],
      [
        "11 MiB",
        "m",
        uploadOf(`// ${"x".repeat(11 * 1024 * 1024)}`),
        10027,
        /exceeded the size limit of 10 MiB: it is 11 MiB/,
      ],
      [
        "an invalid date",
        "m",
        uploadOf("", { compatibilityDate: "soon" }),
        10021,
        /"soon" is not a valid compatibility date/,
      ],
      [
        "a nonexistent day",
        "m",
        uploadOf("", { compatibilityDate: "2026-02-30" }),
        10021,
        /not a valid compatibility date/,
      ],
      [
        "a date in the future",
        "m",
        uploadOf("", { compatibilityDate: "2027-01-01" }),
        10021,
        /Can't set compatibility date in the future: "2027-01-01"/,
      ],
      [
        "a binding without a name",
        "m",
        uploadOf("", { bindings: [{ type: "plain_text", name: "", text: "" }] }),
        10052,
        /Binding at index 0 must have a name/,
      ],
      [
        "a duplicate binding name",
        "m",
        uploadOf("", {
          bindings: [
            { type: "plain_text", name: "X", text: "" },
            { type: "json", name: "X", json: 1 },
          ],
        }),
        10053,
        /Binding name 'X' already in use/,
      ],
      [
        "an oversized text binding",
        "m",
        uploadOf("", { bindings: [{ type: "plain_text", name: "X", text: "x".repeat(6000) }] }),
        10054,
        /Text binding 'X' is too large/,
      ],
      [
        "an inherited binding that does not exist",
        "m",
        uploadOf("", { bindings: [{ type: "inherit", name: "X" }], inheritStrictly: true }),
        10057,
        /inherit binding 'X' is invalid/,
      ],
    ];

    for (const [what, name, upload, wanted, words] of refusals) {
      test(`rejects ${what}`, async (t) => {
        const { scripts, fake } = await start(engine, t);
        await assert.rejects(scripts.upload(A, name, upload, author), says(wanted, words));
        assert.deepEqual([(await scripts.list(A)).total, fake.state.tried], [0, 0]);
      });
    }

    test("rejects more Workers than an account may have", async (t) => {
      const { scripts } = await start(engine, t, { limits: { scriptsPerAccount: 1 } });
      await scripts.upload(A, "one", uploadOf("fetch"), author);
      await assert.rejects(scripts.upload(A, "two", uploadOf("fetch"), author), code(10037));
      await assert.rejects(scripts.create(A, "two", author), code(10037));
      await scripts.upload(A, "one", uploadOf("fetch again"), author);
    });

    test("a deleted worker is gone, and its name can be reused", async (t) => {
      const { scripts, live, fake, db } = await start(engine, t);
      const { script } = await scripts.upload(A, "mail", uploadOf("email"), author);
      await scripts.changeSchedules(A, "mail", ["* * * * *"]);
      assert.ok(await email({ live }));
      await scripts.delete(A, "mail");
      const answer = await live.email({ account: A, script: "mail" }, mailOf(), noActions);
      assert.deepEqual(
        [answer.outcome, answer.exception?.message],
        ["exception", "This Worker does not exist on your account."],
      );
      assert.deepEqual([fake.known.size, await scripts.byId(A, script.id)], [0, undefined]);
      const tables = db.tables<ScriptsTables>();
      for (const table of [
        "worker_versions",
        "worker_modules",
        "worker_deployments",
        "worker_deployed_versions",
        "worker_schedules",
      ] as const)
        assert.deepEqual(await tables.selectFrom(table).selectAll().execute(), [], table);
      await assert.rejects(scripts.delete(A, "mail"), code(10007));
      assert.notEqual((await scripts.upload(A, "mail", uploadOf("email"), author)).script.id, script.id);
    });

    test("share one subdomain label per account, which no other account can use", async (t) => {
      const { scripts } = await start(engine, t);
      const label = await scripts.subdomain(A);
      assert.match(label, /^[a-z0-9-]+$/);
      assert.equal(await scripts.subdomain(A), label);
      assert.notEqual(await scripts.subdomain(B), label);
      assert.equal(await scripts.changeSubdomain(A, "Acme"), "acme");
      await assert.rejects(scripts.changeSubdomain(B, "acme"), { kind: "subdomainTaken" });
      await assert.rejects(scripts.changeSubdomain(B, "a_b"), { kind: "badSubdomain" });
      await scripts.upload(A, "mail", uploadOf("fetch"), author);
      assert.equal(await scripts.bySubdomain("acme", "mail"), undefined);
      await scripts.changeSettings(A, "mail", { subdomainEnabled: true });
      assert.deepEqual(await scripts.bySubdomain("acme", "mail"), { account: A, script: "mail" });
      assert.equal(await scripts.bySubdomain(await scripts.subdomain(B), "mail"), undefined);
      await scripts.deleteSubdomain(A);
      assert.equal(await scripts.bySubdomain("acme", "mail"), undefined);
      assert.equal(await scripts.changeSubdomain(B, "acme"), "acme");
      assert.notEqual(await scripts.subdomain(A), "acme");
    });

    test("schedules are replaced as a whole", async (t) => {
      const { scripts, clock } = await start(engine, t);
      await scripts.upload(A, "mail", uploadOf("scheduled"), author);
      const [first] = await scripts.changeSchedules(A, "mail", ["*/5 * * * *", "0 0 * * sun"]);
      clock.advance(1000);
      const after = await scripts.changeSchedules(A, "mail", ["0 1 * * *", "*/5 * * * *"]);
      assert.deepEqual(
        after.map(({ cron }) => cron),
        ["0 1 * * *", "*/5 * * * *"],
      );
      assert.deepEqual([after[1]!.createdAt, after[0]!.createdAt.getTime()], [first!.createdAt, clock.now()]);
      await assert.rejects(
        scripts.changeSchedules(A, "mail", ["0 0 * * 0"]),
        says(10100, /^invalid cron string: 0 0 \* \* 0$/),
      );
      await assert.rejects(
        scripts.changeSchedules(A, "mail", ["0 0 * * *", "0 0 * * *"]),
        says(10100, /^duplicate cron found/),
      );
      assert.deepEqual(await scripts.schedules(A, "mail"), after);
      assert.deepEqual(await scripts.changeSchedules(A, "mail", []), []);
      await assert.rejects(scripts.schedules(A, "none"), code(10007));
    });
  });
}
