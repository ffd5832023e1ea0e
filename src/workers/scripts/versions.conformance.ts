import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { author, storedModules, uploadOf } from "./scripts.testing.ts";
import { A, code, says, start, email } from "./conformance.testing.ts";

/** Behavior of versions and deployments on every database engine. */
export function versionsConformance(engine: TestEngine): void {
  describe("versions and deployments", () => {
    test("a version is inactive until deployed, percentages apply, and one deployment restores the previous version", async (t) => {
      const { scripts, live } = await start(engine, t);
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

    test("changing version settings creates a new version, and changing script settings does not", async (t) => {
      const { scripts, live } = await start(engine, t);
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
      const { scripts, objects } = await start(engine, t);
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
      const { scripts, objects, live } = await start(engine, t, { limits: { keptVersions: 3, keptDeployments: 2 } });
      const { version: first } = await scripts.upload(A, "mail", uploadOf("email 1"), author);
      for (let i = 2; i <= 6; i++) await scripts.createVersion(A, "mail", uploadOf(`email ${i}`), author);
      const numbers = async () =>
        (await scripts.versions(A, "mail", { page: 1, perPage: 50 })).items.map(({ number }) => number);
      assert.deepEqual(await numbers(), [6, 5, 4, 1]);
      assert.equal(await email({ live }), first.id);
      for (let i = 7; i <= 9; i++) await scripts.upload(A, "mail", uploadOf(`email ${i}`), author);
      assert.deepEqual([await numbers(), (await scripts.deployments(A, "mail")).total], [[9, 8, 7], 2]);
      assert.equal((await storedModules(objects)).length, 9);
      assert.deepEqual(await scripts.sweep(), { orphans: 0, finished: true }, "recent modules may be about to be used");
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
      const { scripts } = await start(engine, t);
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
  });
}
