import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { silentLog } from "../../kernel/index.ts";
import { createLocalEvents, createSecrets, migrate, openFsObjects, openSqlite } from "../../store/index.ts";
import { createLiveWorkers } from "../live/live.ts";
import { mailOf, noActions } from "../runtime/runtime.testing.ts";
import { scriptsMigrations } from "./schema.ts";
import { createScripts } from "./scripts.ts";
import { author, createFakeRuntime, everyTarget, storedModules, uploadOf } from "./scripts.testing.ts";

const ACCOUNT = "a".repeat(32);
const KEY = Buffer.alloc(32, 7);
const NAMES = ["a", "b", "c"];

async function open(folder: string) {
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, scriptsMigrations);
  const objects = await openFsObjects({ folder: join(folder, "objects") });
  const secrets = createSecrets({ keys: [KEY] });
  const events = createLocalEvents({ log: silentLog });
  const live = createLiveWorkers({ db, objects, secrets, events, runtime: createFakeRuntime().runtime });
  const scripts = createScripts({
    db,
    objects,
    secrets,
    events,
    live,
    targets: everyTarget,
    limits: { keptVersions: 5, keptDeployments: 3 },
  });
  return { db, objects, live, scripts };
}

async function deployForever(folder: string): Promise<never> {
  const { scripts } = await open(folder);
  const deploy = async (name: string): Promise<never> => {
    for (let round = 0; ; round++) {
      const { version } = await scripts.upload(
        ACCOUNT,
        name,
        uploadOf(`email ${name} ${round} ${Math.random()}`, { keepBindings: ["secret_text"] }),
        author,
      );
      writeSync(1, `${JSON.stringify({ name, version: version.id, number: version.number })}\n`);
      const { id, number } = await scripts.changeSecrets(ACCOUNT, name, { KEY: String(round) }, author);
      writeSync(1, `${JSON.stringify({ name, version: id, number })}\n`);
    }
  };
  return Promise.race(NAMES.map(deploy));
}

async function killAfter(lines: number, folder: string): Promise<Map<string, number>> {
  const child = spawn(process.execPath, [import.meta.filename, "deploy", folder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const acknowledged = new Map<string, number>();
  let seen = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const { name, number } = JSON.parse(line) as { name: string; number: number };
    acknowledged.set(name, number);
    if (++seen === lines) child.kill("SIGKILL");
  }
  assert.equal((await exited)[1], "SIGKILL", "the child was killed while it was deploying");
  return acknowledged;
}

// The process that the test kills runs this file too.
if (process.argv[2] === "deploy") await deployForever(process.argv[3]!);
else
  test("a server killed during deploys keeps acknowledged deploys live, and every version has its modules", async () => {
    const folder = await mkdtemp(join(tmpdir(), "deploys-"));
    try {
      for (let kill = 0; kill < 3; kill++) {
        const acknowledged = await killAfter(20 + kill * 7, folder);
        const { db, objects, live, scripts } = await open(folder);
        for (const name of NAMES) {
          const script = await scripts.get(ACCOUNT, name);
          if (script === undefined) continue;
          assert.ok(script.latest!.number >= (acknowledged.get(name) ?? 0), `${name} lost a version`);
          assert.equal(script.live!.versions[0]!.versionId, script.latest!.id);
          assert.equal(
            (await live.email({ account: ACCOUNT, script: name }, mailOf(), noActions)).rejected,
            script.latest!.id,
          );
          const versions = (await scripts.versions(ACCOUNT, name, { page: 1, perPage: 100 })).items;
          assert.ok(versions.length <= 5 + 3);
          for (const version of versions)
            assert.match(String((await scripts.modules(version))[0]!.content), new RegExp(`^email ${name} `));
        }
        assert.ok((await scripts.sweep({ orphanGraceMs: -1000 })).finished);
        const used = new Set(
          (
            await Promise.all(
              NAMES.map(
                async (name) =>
                  (await scripts.get(ACCOUNT, name)) &&
                  (await scripts.versions(ACCOUNT, name, { page: 1, perPage: 100 })).items,
              ),
            )
          )
            .flatMap((items) => items ?? [])
            .map(({ id }) => id),
        );
        assert.ok((await storedModules(objects)).length <= used.size);
        await live.close();
        await db.close();
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
