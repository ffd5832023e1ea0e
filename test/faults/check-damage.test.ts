import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sendHttpRequest, createApi, TOKEN } from "../e2e/serve-client.ts";
import { clip, needsFfmpeg } from "../support/media.ts";
import { programEntry } from "../support/program.ts";
import { spawnServe, temporaryFolder } from "../support/serve.ts";

const OBJECT = `
import { DurableObject } from "cloudflare:workers";
export class Notes extends DurableObject {
  add(n) { this.ctx.storage.sql.exec("create table if not exists t (n integer)"); this.ctx.storage.sql.exec("insert into t values (?)", n); return "added"; }
}
export default { async fetch(request, env) { return new Response(await env.NOTES.getByName("a").add(1)); } };`;

interface Report {
  ok: boolean;
  findings: {
    kind: string;
    subject: string;
    problem: string;
    damage: boolean;
    repaired: boolean;
    repair: string | null;
  }[];
}

async function check(dataDirectory: string, ...args: string[]): Promise<Report> {
  const { stdout } = await new Promise<{ stdout: string }>((resolve) => {
    execFile(process.execPath, [programEntry, "check", "--json", "--data-dir", dataDirectory, ...args], (_, output) =>
      resolve({ stdout: output }),
    );
  });
  return JSON.parse(stdout) as Report;
}

const kindsOf = ({ findings }: Report) => findings.map(({ kind }) => kind).sort();

/** Creates a stopped server with data of each kind. */
async function createServerData(t: TestContext) {
  const dataDirectory = await temporaryFolder(t);
  const server = await spawnServe(t, { dataDirectory, env: { REELPOST_API_TOKEN: TOKEN } });
  const api = createApi(server.ready, TOKEN);
  const { id: namespace } = await api.ok("post", "storage/kv/namespaces", { body: { title: "values" } });
  for (const key of ["missing", "truncated"])
    await api.ok("put", `storage/kv/namespaces/${namespace}/values/${key}`, { body: key.padEnd(300_000, "x") });
  await api.ok("post", "r2/buckets", { body: { name: "files" } });
  for (const key of ["missing", "truncated"])
    await api.ok("put", `r2/buckets/files/objects/${key}`, { body: key.padEnd(1000, "x") });
  const databases: Record<string, string> = {};
  for (const name of ["broken", "indexed"]) {
    const { uuid } = await api.ok("post", "d1/database", { body: { name } });
    databases[name] = uuid;
    const sql = "create table t (a text); create index t_a on t (a)";
    await api.ok("post", `d1/database/${uuid}/query`, { body: { sql } });
    for (const value of ["one", "two"])
      await api.ok("post", `d1/database/${uuid}/query`, { body: { sql: "insert into t values (?)", params: [value] } });
  }
  await api.deploy("notes", OBJECT, {
    bindings: [{ type: "durable_object_namespace", name: "NOTES", class_name: "Notes" }],
    migrations: { new_tag: "v1", steps: [{ new_sqlite_classes: ["Notes"] }] },
  });
  assert.equal((await sendHttpRequest(server.ready, "/", { host: "notes.main.localhost" })).body, "added");
  const form = new FormData();
  form.set("file", new Blob([new Uint8Array(readFileSync(await clip()))]), "clip.mp4");
  const { uid } = await api.ok("post", "stream", { body: form });
  const captions = new FormData();
  captions.set("file", new Blob(["WEBVTT\n\n00:00.000 --> 00:01.000\nhello\n"]), "en.vtt");
  await api.ok("put", `stream/${uid}/captions/en`, { body: captions });
  while (!(await api.ok("get", `stream/${uid}`)).readyToStream) await sleep(100);

  const healthy = await check(dataDirectory);
  assert.deepEqual(healthy, { ...healthy, ok: true, findings: [] }, "a running server has no findings");
  await server.stop();
  return { dataDirectory, databases, uid: uid as string, namespace: namespace as string };
}

test(
  "check explains each of fourteen kinds of damage, and repairs every kind that can be repaired",
  needsFfmpeg,
  async (t) => {
    const { dataDirectory, databases, uid } = await createServerData(t);
    const objects = join(dataDirectory, "objects");
    const db = new DatabaseSync(join(dataDirectory, "reelpost.sqlite"));
    const one = (sql: string) => Object.values(db.prepare(sql).get()!)[0] as string;
    const objectOf = (sql: string) => join(objects, one(sql));

    rmSync(objectOf("select object_key from kv_entries where key = cast('missing' as blob)"));
    truncateSync(objectOf("select object_key from kv_entries where key = cast('truncated' as blob)"), 7);
    rmSync(objectOf("select 'r2/' || bucket || '/' || version from r2_objects where key = 'missing'"));
    appendFileSync(
      objectOf("select 'r2/' || bucket || '/' || version from r2_objects where key = 'truncated'"),
      "more",
    );
    rmSync(objectOf("select object_key from worker_modules"));
    rmSync(objectOf("select object_key from stream_captions"));
    rmSync(objectOf("select source_key from stream_videos"));
    db.exec(
      `insert into stream_live_segments (video_uid, n, run_id, start_s, durations, ends, size) values ('${uid}', 0, 'r', 0, '{"720p":2}', '{}', 10)`,
    );
    db.close();
    mkdirSync(join(objects, "stream", uid, "360p"), { recursive: true });
    writeFileSync(join(objects, "stream", uid, "360p", "7.m4s"), "");
    const orphan = join(objects, "kv", "orphan");
    writeFileSync(orphan, "orphan");
    const longAgo = new Date(Date.now() - 48 * 3_600_000);
    utimesSync(orphan, longAgo, longAgo);
    writeFileSync(join(objects, "kv", "recent"), "its row may be about to be written");
    writeFileSync(join(dataDirectory, "d1", "00000000-0000-4000-8000-000000000000.sqlite"), "");
    truncateSync(join(dataDirectory, "d1", `${databases["broken"]}.sqlite`), 5000);
    emptyIndex(join(dataDirectory, "d1", `${databases["indexed"]}.sqlite`));
    const stored = readdirSync(join(dataDirectory, "durable-objects"), { recursive: true, encoding: "utf8" });
    const object = join(
      dataDirectory,
      "durable-objects",
      stored.find((name) => /[0-9a-f]{64}\.sqlite$/.test(name))!,
    );
    writeFileSync(object, Buffer.alloc(8192, 1));

    const expected = [
      "caption",
      "d1_database",
      "d1_database",
      "durable_object",
      "kv_value",
      "kv_value",
      "live_segment",
      "orphan",
      "orphan_database",
      "r2_object",
      "r2_object",
      "video_segment",
      "video_source",
      "worker_module",
    ];
    const found = await check(dataDirectory);
    assert.deepEqual(kindsOf(found), expected, JSON.stringify(found.findings, undefined, 2));
    assert.equal(found.ok, false);
    assert.match(
      found.findings.find(({ subject }) => subject.includes('"truncated" of namespace'))!.problem,
      /has 7 bytes instead of 300000/,
    );

    const repaired = await check(dataDirectory, "--repair");
    assert.deepEqual(
      repaired.findings
        .filter((finding) => finding.repaired)
        .map(({ kind }) => kind)
        .sort(),
      [
        "caption",
        "d1_database",
        "kv_value",
        "kv_value",
        "orphan",
        "orphan_database",
        "r2_object",
        "r2_object",
        "video_segment",
      ],
      JSON.stringify(repaired.findings, undefined, 2),
    );
    assert.ok(!existsSync(orphan));
    const kept = readdirSync(join(dataDirectory, "removed"), { recursive: true, encoding: "utf8" });
    assert.ok(
      kept.some((name) => name.endsWith("objects/kv/orphan")),
      "removed files are kept in removed/",
    );

    const after = await check(dataDirectory);
    assert.deepEqual(kindsOf(after), [
      "d1_database",
      "durable_object",
      "live_segment",
      "video_source",
      "worker_module",
    ]);
    const server = await spawnServe(t, { dataDirectory, env: { REELPOST_API_TOKEN: TOKEN } });
    const api = createApi(server.ready, TOKEN);
    const { results } = (
      await api.ok("post", `d1/database/${databases["indexed"]}/query`, {
        body: { sql: "select a from t where a = 'two'" },
      })
    )[0];
    assert.deepEqual(results, [{ a: "two" }]);
    const refused = await check(dataDirectory, "--repair");
    assert.match(JSON.stringify(refused), /data_directory_busy/, "a running server must be stopped first");
  },
);

/** Removes all entries from the index of a table: queries that use it find nothing. */
function emptyIndex(path: string): void {
  const db = new DatabaseSync(path, { defensive: false });
  db.exec("drop index t_a; create index t_a on t (a) where 0; pragma writable_schema = on");
  db.exec("update sqlite_master set sql = 'create index t_a on t (a)' where name = 't_a'");
  db.close();
}

test("check reports a wrong key and the objects folder of another database", async (t) => {
  const dataDirectory = await temporaryFolder(t);
  const server = await spawnServe(t, { dataDirectory, env: { REELPOST_API_TOKEN: TOKEN } });
  await server.stop();
  rmSync(join(dataDirectory, "secrets.key"));
  writeFileSync(join(dataDirectory, "objects", "store-id"), "another");
  assert.deepEqual(kindsOf(await check(dataDirectory)), ["other_objects", "secrets_key"]);
});
