import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { openFsObjects, openSqlite } from "../../src/store/index.ts";
import { loadKeyFile } from "../../src/store/secrets/keys.ts";
import { createD1Databases } from "../../src/workers/bindings/d1/index.ts";
import { createDisk } from "./power-cut/disk.ts";
import { D1_ID, OBJECTS, PARTIAL } from "./power-cut/promised.ts";
import { type Call, readTrace, STRACE } from "./power-cut/trace.ts";

const available = spawnSync("strace", ["-e", "trace=none", "true"]).status === 0;
if (!available && process.env["REQUIRE_ALL"] === "1")
  throw new Error("strace is not installed or not permitted: node scripts/system.ts test");

describe("after a power cut", { skip: available ? false : "strace is not installed or not permitted" }, () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "reelpost-power-")));
  const root = join(folder, "data");
  let calls: Call[] = [];
  before(() => {
    mkdirSync(root);
    const file = join(folder, "trace");
    const { status, stderr } = spawnSync(
      "strace",
      [
        ...STRACE,
        "-o",
        file,
        process.execPath,
        "--no-warnings",
        join(import.meta.dirname, "power-cut/writer.ts"),
        root,
      ],
      {
        encoding: "utf8",
        timeout: 240_000,
        maxBuffer: 1 << 26,
        env: { ...process.env, UV_USE_IO_URING: "0" },
      },
    );
    assert.equal(status, 0, stderr);
    calls = readTrace(file);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** Returns the acknowledgement written by a call, if any. */
  const acknowledged = ({ name, args }: Call): string | undefined =>
    name === "write" ? /^ack (.*)\n$/.exec(String(args[1]))?.[1] : undefined;

  /**
   * Replays all calls and simulates a power cut on a copy after each acknowledgement. Returns the acknowledged items
   * that are missing.
   */
  async function losses(of: readonly Call[]): Promise<string[]> {
    const disk = createDisk(root);
    const promises: string[] = [];
    const lost: string[] = [];
    for (const call of of) {
      disk.apply(call);
      const promise = acknowledged(call);
      if (promise === undefined) continue;
      promises.push(promise);
      const copy = mkdtempSync(join(folder, "after-"));
      disk.cutPower(copy);
      lost.push(...(await missing(copy, promises)).map((what) => `${what}, after ${promise}`));
      rmSync(copy, { recursive: true, force: true });
    }
    assert.ok(promises.length >= 14, `${promises.length} acknowledgements`);
    return lost;
  }

  async function missing(copy: string, promises: readonly string[]): Promise<string[]> {
    const lost: string[] = [];
    const check = async (what: string, look: () => Promise<unknown>, expected: unknown) => {
      const found = await look().catch((err: unknown) => String(err));
      if (JSON.stringify(found) !== JSON.stringify(expected)) lost.push(what);
    };
    const valueOf = (kind: string) =>
      promises.findLast((promise) => promise.startsWith(`${kind} `))?.slice(kind.length + 1);
    const objects = await openFsObjects({ folder: join(copy, "objects") });
    const octets = async (key: string) => (await (await objects.open(key))?.bytes())?.toString("base64");
    const has = (promise: string) => promises.includes(promise);

    const key = valueOf("key");
    if (key !== undefined)
      await check(
        "the key",
        async () => Buffer.from(loadKeyFile(join(copy, "secrets.key"))[0]!).toString("base64url"),
        key,
      );
    if (has("object a/b/whole")) {
      // Until the second put is acknowledged, either version is valid; afterwards only the new one is.
      const expected = has("object a/b/replaced") ? OBJECTS["a/b/replaced"] : OBJECTS["a/b/whole"];
      await check("object a/b/whole", () => octets("a/b/whole"), expected.toString("base64"));
    }
    if (has("object a/b/streamed"))
      await check("object a/b/streamed", () => octets("a/b/streamed"), OBJECTS["a/b/streamed"].toString("base64"));
    if (has("object c/copied"))
      await check("object c/copied", () => octets("c/copied"), OBJECTS["a/b/streamed"].toString("base64"));
    if (has("upload u/p/load"))
      await check("the finished upload", () => octets("u/p/load"), PARTIAL.toString("base64"));
    else if (valueOf("partial") !== undefined)
      await check("the partial upload", () => objects.partial("u/p/load").size(), Number(valueOf("partial")));
    const rows = valueOf("rows");
    if (rows !== undefined) {
      await check(
        "rows",
        async () => {
          const db = openSqlite({ path: join(copy, "rows.sqlite") });
          try {
            return (await sql<{ n: number }>`select count(*) as n from promises`.execute(db.tables())).rows[0]!.n;
          } finally {
            await db.close();
          }
        },
        Number(rows),
      );
    }
    const d1 = valueOf("d1");
    if (d1 !== undefined) {
      await check(
        "rows of D1",
        async () => {
          const databases = createD1Databases({ directory: join(copy, "d1"), processes: 1 });
          try {
            return (await databases.query(D1_ID, [{ sql: "select count(*) from t" }]))[0]!.results.rows;
          } finally {
            await databases.close();
          }
        },
        [[Number(d1)]],
      );
    }
    return lost;
  }

  test("keeps all acknowledged data: objects, partial uploads, the key, rows, D1", async () => {
    assert.deepEqual(await losses(calls), []);
  });

  test("an object's data is synced before it is renamed into place, and its directory before the write is acknowledged", () => {
    const at = (what: string, from: number, matches: (call: Call) => boolean) => {
      const found = calls.findIndex((call, i) => i > from && matches(call));
      assert.ok(found > from, `no ${what}`);
      return found;
    };
    const objects = join(root, "objects");
    const opened = at(
      "temporary file",
      -1,
      ({ name, path }) => name === "openat" && path?.startsWith(join(objects, ".tmp/")) === true,
    );
    const synced = at(
      "fdatasync of the temporary file",
      opened,
      ({ name, path }) => name === "fdatasync" && path === calls[opened]!.path,
    );
    const named = at(
      "rename",
      synced,
      ({ name, args }) => name.startsWith("rename") && args.some((arg) => String(arg) === join(objects, "a/b/whole")),
    );
    const folderSynced = at(
      "fsync of the folder",
      named,
      ({ name, path }) => name === "fsync" && path === join(objects, "a/b"),
    );
    assert.ok(calls[folderSynced]!.start > named, "the folder is synced after the rename");
    assert.ok(at("acknowledgement", named, (call) => acknowledged(call) === "object a/b/whole") > folderSynced);
  });

  test("the simulated disk detects a missing sync", async () => {
    const without = (drop: (call: Call) => boolean) => losses(calls.filter((call) => !drop(call)));
    const isIn = ({ path }: Call, part: string) => path?.includes(part) === true;
    assert.match(
      (await without((call) => call.name === "fdatasync" && isIn(call, "/.tmp/"))).join("\n"),
      /object a\/b\/whole/,
    );
    assert.match(
      (await without((call) => call.name === "fsync" && call.path === join(root, "objects/a/b"))).join("\n"),
      /object a\/b\/streamed/,
    );
    assert.match(
      (await without((call) => call.name === "fdatasync" && isIn(call, "/.partial/"))).join("\n"),
      /the partial upload/,
    );
    assert.match(
      (await without((call) => isIn(call, "rows.sqlite-wal") && call.name.endsWith("sync"))).join("\n"),
      /rows/,
    );
    assert.match((await without((call) => isIn(call, "/d1/") && call.name.endsWith("sync"))).join("\n"), /D1/);
    assert.match((await without((call) => call.name === "fsync" && call.path === root)).join("\n"), /the key/);
  });
});
