import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { A, refusal, startRouting } from "./routing.testing.ts";

/** Tests of routes, for every database engine. */
export function routesConformance(engine: TestEngine): void {
  const start = (t: TestContext) => startRouting(t, engine);

  describe("routes", () => {
    test("have unique patterns within a zone; a route without a worker overrides other routes", async (t) => {
      const { routes, at } = await start(t);
      const { id } = await routes.create("z1", { pattern: "example.com/*", script: "one" });
      await assert.rejects(routes.create("z1", { pattern: "EXAMPLE.com/*", script: "two" }), refusal("routeExists"));
      await assert.rejects(routes.create("z1", { pattern: "other.example/", script: "two" }), refusal("outsideZone"));
      await assert.rejects(routes.create("z9", { pattern: "example.com/", script: "two" }), refusal("zoneMissing"));
      await assert.rejects(
        routes.create("z1", { pattern: "example.com/x", script: "absent" }),
        refusal("routeScriptMissing"),
      );
      const disablingRoute = await routes.create("z1", { pattern: "example.com/off*", script: undefined });
      assert.deepEqual([at("http://example.com/a?b"), at("http://example.com:8787/off/x")], ["one", undefined]);
      assert.equal(at("http://www.example.com/"), undefined);
      await routes.update("z1", disablingRoute.id, { pattern: "*example.com/*", script: "two" });
      assert.deepEqual([at("http://www.example.com/"), at("http://example.com/off")], ["two", "one"]);
      await assert.rejects(
        routes.update("z1", disablingRoute.id, { pattern: "example.com/*", script: "two" }),
        refusal("routeExists"),
      );
      await routes.delete("z1", id);
      assert.equal(at("http://example.com/"), "two");
      await assert.rejects(routes.delete("z1", id), refusal("routeMissing"));
      await assert.rejects(routes.get("z2", disablingRoute.id), refusal("routeMissing"));
    });

    test("follow their worker when it is renamed, as custom domains do, including in other processes", async (t) => {
      const { routes, domains, references, db, at, another } = await start(t);
      await routes.create("z1", { pattern: "example.com/*", script: "one" });
      await routes.create("z1", { pattern: "example.com/two", script: "two" });
      await routes.create("z3", { pattern: "other.example/*", script: "one" });
      await domains.attach(A, "one", { hostname: "www.example.com" });
      const other = await another();
      await other.load();
      const rename = (from: string, to: string) =>
        db.transaction((tx) => references.rename(tx, { account: A, from, to }));
      await (
        await rename("one", "renamed")
      )();
      await other.load();
      for (const from of [undefined, other])
        assert.deepEqual(
          ["example.com/", "example.com/two", "www.example.com/", "other.example/"].map((url) =>
            at(`http://${url}`, from),
          ),
          ["renamed", "two", "renamed", "one"],
        );
      assert.deepEqual(
        (await domains.list(A)).map(({ hostname, script }) => [hostname, script]),
        [["www.example.com", "renamed"]],
      );
      // A new worker of the former name has no routes.
      assert.deepEqual(await routes.listByScript(A, "one"), []);
      assert.equal((await routes.listByScript(A, "renamed")).length, 1);
    });

    test("are replaced completely or not at all for each worker", async (t) => {
      const { routes, at } = await start(t);
      await routes.create("z1", { pattern: "example.com/theirs", script: "other" });
      const workerRoutes = await routes.replace(A, "one", [
        { pattern: "example.com/a" },
        { pattern: "x.sub.example.com/*" },
      ]);
      assert.deepEqual(
        workerRoutes.map(({ pattern, zoneName }) => [pattern, zoneName]),
        [
          ["example.com/a", "example.com"],
          ["x.sub.example.com/*", "sub.example.com"],
        ],
      );
      for (const [rejectedRoute, kind] of [
        [{ pattern: "example.com/theirs" }, "routeExists"],
        [{ pattern: "other.example/*" }, "zoneMissing"],
        [{ pattern: "example.com/*", zoneName: "sub.example.com" }, "zoneMissing"],
        [{ pattern: "example.com/*", zoneId: "z3" }, "zoneMissing"],
        [{ pattern: "nowhere.example/*" }, "zoneMissing"],
        [{ pattern: "*" }, "badPattern"],
      ] as const)
        await assert.rejects(
          routes.replace(A, "one", [{ pattern: "example.com/b" }, rejectedRoute]),
          refusal(kind),
          kind,
        );
      assert.deepEqual(await routes.listByScript(A, "one"), workerRoutes);
      const replacedRoutes = await routes.replace(A, "one", [
        { pattern: "example.com/c" },
        { pattern: "example.com/a" },
      ]);
      assert.equal(replacedRoutes.find(({ pattern }) => pattern === "example.com/a")?.id, workerRoutes[0]!.id);
      assert.deepEqual([at("http://x.sub.example.com/"), at("http://example.com/c")], [undefined, "one"]);
      assert.deepEqual(await routes.replace(A, "one", []), []);
      assert.equal(at("http://example.com/theirs"), "other");
    });

    test("are limited to 1000 per zone", async (t) => {
      const { routes } = await start(t);
      const maxRoutes = Array.from({ length: 1000 }, (_, i) => ({ pattern: `example.com/${i}` }));
      await routes.replace(A, "one", maxRoutes);
      await assert.rejects(routes.create("z1", { pattern: "example.com/x", script: "one" }), refusal("tooManyRoutes"));
      await assert.rejects(
        routes.replace(A, "one", [...maxRoutes, { pattern: "example.com/x" }]),
        refusal("tooManyRoutes"),
      );
      assert.equal((await routes.list("z1")).length, 1000);
    });

    test("apply in every process, and are deleted with their zone", async (t) => {
      const { routes, domains, zones, events, at, another } = await start(t);
      const otherProcess = await another();
      await routes.create("z1", { pattern: "example.com/*", script: "one" });
      await domains.attach(A, "two", { hostname: "www.example.com" });
      await otherProcess.load();
      assert.deepEqual(
        [at("http://example.com/", otherProcess), at("http://www.example.com/", otherProcess)],
        ["one", "two"],
      );
      zones.delete("z1");
      events.publish("zone-deleted", "z1");
      while ((await routes.list("z1")).length > 0 || (await domains.list(A)).length > 0)
        await new Promise((resolve) => void setImmediate(resolve));
      assert.equal(at("http://example.com/"), undefined);
    });

    test("do not apply while the hosts of the API are unknown, and one warning is logged", async (t) => {
      const { routes, domains, at, another, warnings } = await start(t);
      const unconfigured = await another(false);
      await unconfigured.load();
      assert.deepEqual(warnings, []);
      await routes.create("z1", { pattern: "api.example.com/*", script: "one" });
      await domains.attach(A, "one", { hostname: "www.example.com" });
      await unconfigured.load();
      await unconfigured.load();
      assert.equal(warnings.length, 1);
      for (const host of ["api.example.com", "www.example.com"])
        assert.deepEqual([at(`http://${host}/`), at(`http://${host}/`, unconfigured)], ["one", undefined], host);
    });

    test("are deleted at start if their zone no longer exists", async (t) => {
      const { routes, zones, load, at } = await start(t);
      await routes.create("z1", { pattern: "example.com/*", script: "one" });
      zones.delete("z1");
      await load();
      assert.equal(at("http://example.com/"), undefined);
      assert.deepEqual(await routes.list("z1"), []);
    });
  });
}
