import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test, type TestContext } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import type { UserError } from "../../kernel/index.ts";
import { mailOf, noActions } from "../runtime/runtime.testing.ts";
import type { BindingTargets, Upload } from "./port.ts";
import { scriptsMigrations, type ScriptsTables } from "./schema.ts";
import type { Binding } from "./script.ts";
import { author, openHouse, storedModules, uploadOf, type House } from "./scripts.testing.ts";

const A = "a".repeat(32);
const B = "b".repeat(32);
const KEEP_SECRETS: Partial<Upload> = { keepBindings: ["secret_text"] };

const code = (wanted: number) => (err: UserError) => (assert.equal(err.code, wanted, err.message), true);
const says = (wanted: number, words: RegExp) => (err: UserError) =>
  code(wanted)(err) && (assert.match(err.message, words), true);

/** Behavior of deploying on every database engine. */
export function scriptsConformance(engine: TestEngine): void {
  const start = async (t: TestContext, options?: Parameters<typeof openHouse>[2]): Promise<House> =>
    openHouse(t, (await engine.open(t, scriptsMigrations)).db, options);
  const email = async ({ live }: Pick<House, "live">, script = "mail") =>
    (await live.email({ account: A, script }, mailOf(), noActions)).rejected;
  const secretsOf = ({ fake }: Pick<House, "fake">, versionId: string) => {
    const worker = [...fake.known.values()].find(({ version }) => version === versionId);
    return Object.fromEntries(
      (worker?.bindings ?? []).flatMap((binding) =>
        binding.type === "secret_text" ? [[binding.name, binding.text]] : [],
      ),
    );
  };

  describe("scripts", () => {
    test("an upload creates script, version and deployment, and goes live", async (t) => {
      const { scripts, live, fake } = await start(t);
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
      const { scripts, live } = await start(t);
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
      const { scripts } = await start(t);
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
      const { scripts, live, objects, fake } = await start(t);
      await assert.rejects(scripts.upload(A, "mail", uploadOf("throws"), author), code(10021));
      assert.equal(await scripts.get(A, "mail"), undefined);
      assert.deepEqual([await storedModules(objects), [...fake.known.keys()]], [[], []]);
      const { version } = await scripts.upload(A, "mail", uploadOf("email"), author);
      await assert.rejects(scripts.upload(A, "mail", uploadOf("throws email"), author), code(10021));
      await assert.rejects(scripts.createVersion(A, "mail", uploadOf("throws email"), author), code(10021));
      assert.deepEqual([(await scripts.get(A, "mail"))!.latest, await email({ live })], [version, version.id]);
    });

    const refusals: [what: string, name: string, upload: Upload, wanted: number, words: RegExp][] = [
      ["a name with capitals", "Mail", uploadOf(""), 10016, /"Mail" is not a valid name/],
      ["a name of 64", "m".repeat(64), uploadOf(""), 10016, /not a valid name/],
      ["no main module", "m", uploadOf("", { main: "other.js" }), 10021, /No such module "other\.js"/],
      [
        "a main module that is text",
        "m",
        uploadOf("", { modules: [{ name: "index.js", kind: "text", contentType: "text/plain", content: "" }] }),
        10021,
        /is text, not an ES module/,
      ],
      [
        "two modules of one name",
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
        /exceeded the size limit of 10 MiB: it has 11 MiB/,
      ],
      [
        "a date that is none",
        "m",
        uploadOf("", { compatibilityDate: "soon" }),
        10021,
        /"soon" is not a valid compatibility date/,
      ],
      [
        "a day no month has",
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
        "a name used twice",
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
        "a long text",
        "m",
        uploadOf("", { bindings: [{ type: "plain_text", name: "X", text: "x".repeat(6000) }] }),
        10054,
        /Text binding 'X' is too large/,
      ],
      [
        "nothing to inherit from",
        "m",
        uploadOf("", { bindings: [{ type: "inherit", name: "X" }], inheritStrictly: true }),
        10057,
        /inherit binding 'X' is invalid/,
      ],
    ];
    for (const [what, name, upload, wanted, words] of refusals) {
      test(`rejects ${what}`, async (t) => {
        const { scripts, fake } = await start(t);
        await assert.rejects(scripts.upload(A, name, upload, author), says(wanted, words));
        assert.deepEqual([(await scripts.list(A)).total, fake.state.tried], [0, 0]);
      });
    }

    test("rejects more Workers than an account may have", async (t) => {
      const { scripts } = await start(t, { limits: { scriptsPerAccount: 1 } });
      await scripts.upload(A, "one", uploadOf("fetch"), author);
      await assert.rejects(scripts.upload(A, "two", uploadOf("fetch"), author), code(10037));
      await assert.rejects(scripts.create(A, "two", author), code(10037));
      await scripts.upload(A, "one", uploadOf("fetch again"), author);
    });

    test("rejects a binding to a resource that does not exist in the account, with the code of its kind", async (t) => {
      const targets: BindingTargets = {
        kvNamespace: async (account, id) => account === A && id === "mine",
        r2Bucket: async (_, name) => name === "mine",
        d1Database: async (_, id) => id === "mine",
      };
      const { scripts } = await start(t, { targets });
      const bound = (binding: Binding) => scripts.upload(A, "m", uploadOf("fetch", { bindings: [binding] }), author);
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
      assert.equal(await scripts.get(A, "m"), undefined);
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

    test("a version is inactive until deployed; percentages apply; one deployment restores the previous version", async (t) => {
      const { scripts, live } = await start(t);
      const first = (await scripts.upload(A, "mail", uploadOf("email 1"), author)).version;
      const second = await scripts.createVersion(A, "mail", uploadOf("email 2"), author);
      assert.deepEqual(
        [second.number, second.annotations["workers/triggered_by"], await email({ live })],
        [2, "version_upload", first.id],
      );
      await scripts.deploy(
        A,
        "mail",
        { versions: [{ versionId: second.id, percentage: 100 }], annotations: { "workers/message": "go" } },
        author,
      );
      assert.equal(await email({ live }), second.id);
      const back = await scripts.deploy(A, "mail", { versions: [{ versionId: first.id, percentage: 100 }] }, author);
      assert.equal(await email({ live }), first.id);
      assert.deepEqual((await scripts.get(A, "mail"))!.live, back);

      const bad = (versions: [id: string, percentage: number][]) =>
        scripts.deploy(
          A,
          "mail",
          { versions: versions.map(([versionId, percentage]) => ({ versionId, percentage })) },
          author,
        );
      await assert.rejects(
        bad([
          [first.id, 50],
          [second.id, 40],
        ]),
        says(10147, /add up to 90/),
      );
      await assert.rejects(
        bad([
          [first.id, 150],
          [second.id, -50],
        ]),
        code(10147),
      );
      await assert.rejects(bad([[first.id, Number.NaN]]), code(10147));
      await assert.rejects(
        bad([
          [first.id, 50],
          [first.id, 50],
        ]),
        code(10147),
      );
      await assert.rejects(bad([]), code(10147));
      await assert.rejects(bad([["nope", 100]]), code(10146));
      const other = (await scripts.upload(A, "other", uploadOf("email"), author)).version;
      await assert.rejects(bad([[other.id, 100]]), says(10146, new RegExp(other.id)));
      assert.equal((await scripts.deployments(A, "mail")).items[0]!.id, back.id);
      await bad([
        [first.id, 33.33],
        [second.id, 66.67],
      ]);
      await assert.rejects(
        scripts.deploy(A, "none", { versions: [{ versionId: first.id, percentage: 100 }] }, author),
        code(10007),
      );
      await assert.rejects(scripts.createVersion(A, "none", uploadOf("email"), author), code(10007));
    });

    test("secrets are sealed, opened only for the runtime, and carried over on request", async (t) => {
      const house = await start(t);
      const { scripts, db } = house;
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
      assert.deepEqual(secretsOf(house, version.id), { KEY: "hunter2" });
      const rows = await db.tables<ScriptsTables>().selectFrom("worker_versions").selectAll().execute();
      assert.ok(!JSON.stringify(rows).includes("hunter2"));

      const kept = (await scripts.upload(A, "mail", uploadOf("email 2", KEEP_SECRETS), author)).version;
      assert.deepEqual(
        [kept.bindings.map(({ name }) => name), secretsOf(house, kept.id), await scripts.secrets(A, "mail")],
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
      const house = await start(t);
      const { scripts } = house;
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
        [second.bindings.map(({ name, type }) => [name, type]), secretsOf(house, second.id)],
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
      assert.deepEqual(secretsOf(house, third.id), { KEY: "s" });
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
      const house = await start(t);
      const { scripts, live } = house;
      await scripts.upload(
        A,
        "mail",
        uploadOf("email", { bindings: [{ type: "plain_text", name: "VAR", text: "v" }] }),
        author,
      );
      const one = await scripts.changeSecrets(A, "mail", { A: "1", B: "2" }, author);
      assert.deepEqual(
        [one.number, one.annotations["workers/triggered_by"], await email({ live }), secretsOf(house, one.id)],
        [2, "secret", one.id, { A: "1", B: "2" }],
      );
      assert.deepEqual(
        one.bindings.map(({ name }) => name),
        ["VAR", "A", "B"],
      );
      const two = await scripts.changeSecrets(A, "mail", { A: null, B: "3" }, author);
      assert.deepEqual([await scripts.secrets(A, "mail"), secretsOf(house, two.id)], [["B"], { B: "3" }]);
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
      const house = await start(t);
      const { scripts, live } = house;
      const { id } = await scripts.create(A, "mail", author);
      assert.equal((await scripts.create(A, "mail", author)).id, id);
      const draft = await scripts.changeSecrets(A, "mail", { KEY: "s" }, author);
      assert.deepEqual(
        [await scripts.secrets(A, "mail"), (await scripts.get(A, "mail"))!.live, await email({ live })],
        [["KEY"], undefined, undefined],
      );
      const { script, version } = await scripts.upload(A, "mail", uploadOf("email", KEEP_SECRETS), author);
      assert.deepEqual(
        [script.id, draft.number, version.number, secretsOf(house, version.id)],
        [id, 1, 2, { KEY: "s" }],
      );
    });

    test("changing version settings creates a new version; changing script settings does not", async (t) => {
      const { scripts, live } = await start(t);
      const { version } = await scripts.upload(
        A,
        "mail",
        uploadOf("email", {
          bindings: [
            { type: "secret_text", name: "KEY", text: "s" },
            { type: "plain_text", name: "V", text: "1" },
          ],
        }),
        author,
      );
      const dated = await scripts.changeVersionSettings(
        A,
        "mail",
        { compatibilityDate: "2026-10-01", limits: { cpuMs: 50 } },
        author,
      );
      assert.deepEqual(
        [dated.compatibilityDate, dated.limits, dated.bindings, dated.number, await email({ live })],
        ["2026-10-01", { cpuMs: 50 }, version.bindings, 2, dated.id],
      );
      const rebound = await scripts.changeVersionSettings(
        A,
        "mail",
        { bindings: [{ type: "plain_text", name: "V", text: "2" }], keepBindings: ["secret_text"] },
        author,
      );
      assert.deepEqual(
        [rebound.bindings.map(({ name }) => name), rebound.compatibilityDate],
        [["V", "KEY"], "2026-10-01"],
      );
      const changed = await scripts.changeSettings(A, "mail", {
        logpush: true,
        observability: { enabled: true },
        subdomainEnabled: true,
      });
      assert.deepEqual(
        [changed.logpush, changed.observability, changed.subdomainEnabled, changed.tags, changed.latest!.id],
        [true, { enabled: true }, true, [], rebound.id],
      );
      assert.deepEqual(await scripts.get(A, "mail"), changed);
      await assert.rejects(scripts.changeSettings(A, "none", {}), code(10007));
    });

    test("the same upload creates a version with the same etag, and existing modules are not written again", async (t) => {
      const { scripts, objects } = await start(t);
      const upload = uploadOf("email", {
        bindings: [{ type: "plain_text", name: "V", text: "1" }],
        modules: [
          ...uploadOf("email").modules,
          { name: "a.bin", kind: "data", contentType: "application/octet-stream", content: randomBytes(1000) },
          { name: "index.js.map", kind: "source-map", contentType: "application/source-map", content: "{}" },
        ],
      });
      const first = (await scripts.upload(A, "mail", upload, author)).version;
      const again = (await scripts.upload(A, "mail", upload, author)).version;
      assert.equal(again.etag, first.etag);
      assert.equal((await storedModules(objects)).length, 3);
      assert.equal(first.size, 1005);
      assert.deepEqual(
        (await scripts.modules(again)).map(({ name, content }) => [name, Buffer.from(content)]),
        upload.modules.map(({ name, content }) => [name, Buffer.from(content)]),
      );
      assert.notEqual((await scripts.upload(A, "mail", { ...upload, bindings: [] }, author)).version.etag, first.etag);
    });

    test("keeps only the newest versions and those of kept deployments", async (t) => {
      const { scripts, objects, live } = await start(t, { limits: { keptVersions: 3, keptDeployments: 2 } });
      const { version: first } = await scripts.upload(A, "mail", uploadOf("email 1"), author);
      for (let i = 2; i <= 6; i++) await scripts.createVersion(A, "mail", uploadOf(`email ${i}`), author);
      const numbers = async () =>
        (await scripts.versions(A, "mail", { page: 1, perPage: 50 })).items.map(({ number }) => number);
      assert.deepEqual(await numbers(), [6, 5, 4, 1]);
      assert.equal(await email({ live }), first.id);
      for (let i = 7; i <= 9; i++) await scripts.upload(A, "mail", uploadOf(`email ${i}`), author);
      assert.deepEqual([await numbers(), (await scripts.deployments(A, "mail")).total], [[9, 8, 7], 2]);
      assert.equal((await storedModules(objects)).length, 9);
      assert.deepEqual(await scripts.sweep(), { orphans: 0, finished: true }, "what is young may be about to be used");
      const longAfter = { orphanGraceMs: -100 * 365 * 24 * 3600_000 };
      assert.deepEqual(
        [await scripts.sweep({ ...longAfter, limit: 4 }), await scripts.sweep(longAfter)].reduce(
          (sum, { orphans }) => sum + orphans,
          0,
        ),
        6,
      );
      for (const version of (await scripts.versions(A, "mail", { page: 1, perPage: 50 })).items)
        assert.equal((await scripts.modules(version)).length, 1);
    });

    test("versions and deployments that are not live can be deleted", async (t) => {
      const { scripts } = await start(t);
      const first = await scripts.upload(A, "mail", uploadOf("email 1"), author);
      const second = await scripts.upload(A, "mail", uploadOf("email 2"), author);
      const third = await scripts.createVersion(A, "mail", uploadOf("email 3"), author);
      await assert.rejects(scripts.deleteVersion(A, "mail", second.version.id), { kind: "versionLive" });
      await assert.rejects(scripts.deleteDeployment(A, "mail", second.deployment.id), { kind: "deploymentLive" });
      await assert.rejects(scripts.deleteDeployment(A, "mail", "nope"), { kind: "deploymentMissing" });
      await scripts.deleteVersion(A, "mail", third.id);
      assert.equal((await scripts.get(A, "mail"))!.latest!.id, second.version.id);
      await scripts.deleteVersion(A, "mail", first.version.id);
      assert.deepEqual(
        (await scripts.deployments(A, "mail")).items.map(({ id }) => id),
        [second.deployment.id],
      );
      await assert.rejects(scripts.deleteVersion(A, "mail", first.version.id), code(10146));
      // Numbers are never reused.
      assert.equal((await scripts.upload(A, "mail", uploadOf("email 4"), author)).version.number, 4);
    });

    test("a deleted worker is gone, and its name can be reused", async (t) => {
      const { scripts, live, fake, db } = await start(t);
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

    test("subdomains: an account has one label, which no other account can use", async (t) => {
      const { scripts } = await start(t);
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
    });

    test("schedules are replaced as a whole", async (t) => {
      const { scripts, clock } = await start(t);
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
