import assert from "node:assert/strict";
import { globSync, readdirSync } from "node:fs";
import { readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { folderWith, runCli } from "../../src/cli/cli.testing.ts";
import { compareAccounts, fillAccount, readAccount, requestsTo, ROWS, workerName } from "../support/filled-account.ts";
import { until } from "../support/mail-world.ts";
import { clip, mediaClips, needsFfmpeg } from "../support/media.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const SIZES = { zones: 1, rules: 3, workers: 2, keys: 130, objects: 3, databases: 1, videos: 4, liveInputs: 1 };
/** Keys that are unsafe as file names, and one that is also a prefix of another. */
const KEYS = ["../../outside", "a", "a/b", "folder/", '50% "off"', "x".repeat(400)];

const scope = createScope();
let source: Platform;
let target: Platform;
let cwd: string;
before(async () => {
  if (needsFfmpeg.skip !== false) return;
  [source, target] = await Promise.all([
    startPlatform(scope, { REELPOST_EMAIL_STORE_DAYS: "7" }),
    startPlatform(scope),
  ]);
  cwd = await folderWith(scope);
  await fillAccount(source, SIZES, await clip(), await clip(mediaClips.soundOnly));
  const { call } = requestsTo(source);
  const base = `/accounts/${source.account}`;
  const [{ id: namespace }] = await call("GET", `${base}/storage/kv/namespaces`);
  for (const key of KEYS) {
    await call("PUT", `${base}/r2/buckets/files/objects/${encodeURIComponent(key)}`, Buffer.from(`object ${key}`));
    await call(
      "PUT",
      `${base}/storage/kv/namespaces/${namespace}/values/${encodeURIComponent(key)}`,
      Buffer.from(`value of ${key}`),
    );
  }
  await source.mail({ from: "bob@sender.example", to: "user2@zone0.example", subject: "in the log" });
  await until(async () => {
    const [entry] = await call("GET", `${base}/email/activity`);
    return entry && (await call("GET", `${base}/email/activity/${entry.id}`)).stored === true ? true : undefined;
  }, "the stored message");
});
after(() => scope.close());

const run = (...args: string[]) => runCli(args, { cwd, env: { API_BASE_URL: source.api, API_TOKEN: source.token } });
const exportTo = (folder: string, ...args: string[]) => run("export", folder, "--json", ...args);
const read = (path: string) => readFile(join(cwd, "account", path), "utf8");
const readJson = async (path: string) => JSON.parse(await read(path)) as never;
const linesOf = async (path: string) =>
  (await read(path))
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

test("a dry run lists the resources and writes nothing", needsFfmpeg, async () => {
  const { code, json, stderr } = await exportTo("account", "--dry-run");
  assert.equal(code, 0, stderr);
  const counts = new Map<string, number>();
  for (const { kind } of json.items) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  assert.deepEqual(Object.fromEntries(counts), {
    zone: 1,
    "KV namespace": 1,
    "R2 bucket": 1,
    "D1 database": 1,
    worker: 2,
    video: 4,
  });
  assert.ok(!(await readdir(cwd)).includes("account"));
});

test("an account becomes a folder of zone files, NDJSON, SQL, modules, objects and videos", needsFfmpeg, async () => {
  const { code, json, stderr } = await exportTo("account");
  assert.deepEqual([code, json.failed, json.warnings, json.refused], [0, [], [], {}], stderr + JSON.stringify(json));
  const manifest = await readJson("export.json");
  const { folder, ...printed } = json;
  assert.equal(folder, join(cwd, "account"));
  assert.deepEqual(manifest, printed);
  assert.equal(json.complete, true);
  const { counts } = json;
  assert.deepEqual(
    ["zone", "routing rule", "worker", "KV key", "R2 object", "D1 database", "video", "live input"].map(
      (kind) => counts[kind],
    ),
    [1, 4, 2, 130 + KEYS.length, 3 + KEYS.length, 1, 4, 1],
  );
  assert.match(await read("zones/zone0.example.zone"), /^www\.zone0\.example\.\s+3600\s+IN\s+A\s+192\.0\.2\.1/m);
  assert.match(await read(`workers/${workerName(0)}/modules/index.js`), /export default/);
  const [namespace] = await readdir(join(cwd, "account/kv"));
  const keys = new Map((await linesOf(`kv/${namespace}`)).map(({ key, ...line }) => [key, line]));
  assert.deepEqual(keys.get("key-0"), { value: "value 0", metadata: { n: 0 } });
  assert.deepEqual(keys.get("key-9"), { value: Buffer.from([0xff, 0xfe, 9, 0]).toString("base64"), base64: true });
  assert.equal(keys.get("../../outside")?.["value"], "value of ../../outside");
  assert.equal((await linesOf("r2/files/objects.ndjson")).length, 3 + KEYS.length);
  assert.equal(await read("r2/files/objects/object-0"), "object 0");
  assert.equal(await read("r2/files/objects/.%2E/.%2E/outside"), "object ../../outside");
  assert.equal(await read("r2/files/objects/a%_"), "object a");
  assert.equal(await read("r2/files/objects/a/b"), "object a/b");
  assert.equal(await read("r2/files/objects/folder/%"), "object folder/");
  const [dump] = await readdir(join(cwd, "account/d1"));
  assert.equal((await read(`d1/${dump}`)).match(/^INSERT INTO "?notes/gm)?.length, ROWS);
  const videos = await readdir(join(cwd, "account/videos"));
  assert.equal(videos.length, 4);
  const file = await clip();
  for (const uid of videos) {
    assert.deepEqual(await readFile(join(cwd, "account/videos", uid, "original.mp4")), await readFile(file));
    assert.match(await read(`videos/${uid}/captions/en.vtt`), /^WEBVTT/);
    const [savedChapters] = globSync(`v4/**/stream/${uid}/chapters.json`, { cwd: join(cwd, "account") });
    assert.match(await read(savedChapters!), /"Start of video \d"/);
  }
  const withAudio = videos.filter((uid) => readdirSync(join(cwd, "account/videos", uid)).includes("audio"));
  assert.equal(withAudio.length, 2);
  assert.ok((await stat(join(cwd, "account/videos", withAudio[0]!, "audio/French.mp4"))).size > 0);
  const [entry] = await linesOf("mail/log.ndjson");
  assert.match(JSON.stringify(entry), /user2@zone0\.example/);
  assert.match(await read(`mail/${String(entry!["id"])}.eml`), /^Subject: in the log\r$/m);
});

test("the folder is readable only by its owner, and contains no secret values", needsFfmpeg, async () => {
  const root = join(cwd, "account");
  assert.equal((await stat(root)).mode & 0o777, 0o700);
  const secrets: { name: string }[] = await readJson(
    `v4/accounts/${source.account}/workers/scripts/${workerName(0)}/secrets.json`,
  );
  assert.deepEqual(
    secrets.map(({ name }) => name),
    ["SECRET"],
  );
  const webhook: Record<string, unknown> = await readJson(`v4/accounts/${source.account}/stream/webhook.json`);
  assert.equal(webhook["notificationUrl"], "https://hooks.example/stream");
  assert.equal("secret" in webhook, false);
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    assert.equal((await stat(path)).mode & 0o077, 0, path);
    if (/\.(json|ndjson|js)$/.test(entry.name)) assert.doesNotMatch(await readFile(path, "utf8"), /hidden/, path);
  }
});

test(
  "a complete export is not replaced, and an interrupted one is continued without its complete files",
  needsFfmpeg,
  async () => {
    const again = await exportTo("account");
    assert.deepEqual([again.code, again.json.error.code], [1, "E_EXPORT_FINISHED"]);
    const root = join(cwd, "account");
    const manifest = await readJson("export.json");
    const { source: origin, parts } = manifest as { source: object; parts: string[] };
    await rm(join(root, "export.json"));
    await writeFile(join(root, "export.progress.json"), JSON.stringify({ source: origin, parts }));
    const [first, second] = ["object-0", "object-1"].map((name) => join(root, "r2/files/objects", name));
    const [kept, replaced] = [await stat(first!), await stat(second!)];
    // The file now belongs to an older version of the object.
    await utimes(second!, new Date(0), new Date(0));
    const [uid] = await readdir(join(root, "videos"));
    const video = await stat(join(root, "videos", uid!, "original.mp4"));
    const other = await exportTo("account", "--only", "kv");
    assert.equal(other.json.error.code, "E_OTHER_EXPORT");
    const { code, json } = await exportTo("account");
    assert.deepEqual([code, json.failed, json.counts], [0, [], (manifest as { counts: object }).counts]);
    assert.equal((await stat(first!)).ino, kept.ino);
    assert.equal((await stat(join(root, "videos", uid!, "original.mp4"))).ino, video.ino);
    assert.equal((await stat(second!)).mtimeMs, replaced.mtimeMs);
    assert.deepEqual(
      (await readdir(root)).filter((name) => /progress|unfinished/.test(name)),
      [],
    );
  },
);

test("rejects a folder that contains other files", needsFfmpeg, async () => {
  const folder = await folderWith(scope, { "notes.txt": "mine" });
  const { code, json } = await exportTo(folder);
  assert.deepEqual([code, json.error.code], [1, "E_FOLDER_NOT_EMPTY"]);
  assert.deepEqual(await readdir(folder), ["notes.txt"]);
});

test("the folder is imported into another server, and a second run has nothing to do", needsFfmpeg, async () => {
  const importAll = (...args: string[]) =>
    runCli(["import", "folder", "account", "--keep-verified", ...args], {
      cwd,
      env: { API_BASE_URL: target.api, API_TOKEN: target.token },
    });
  const planned = await importAll("--dry-run", "--json");
  assert.equal(planned.code, 0, JSON.stringify(planned.json));
  assert.deepEqual(Object.keys(await readAccount(target)), []);
  const { code, json, stderr } = await importAll("--yes", "--json");
  assert.deepEqual([code, json?.report?.failed], [0, []], stderr + JSON.stringify(json?.report ?? json));
  const { lost, moved } = compareAccounts(await readAccount(source), await readAccount(target));
  assert.deepEqual(lost, []);
  assert.deepEqual(
    ["zones", "keys", "objects", "videos", "live_inputs"].map((kind) => moved[kind]),
    [1, 130 + KEYS.length, 3 + KEYS.length, 4, 1],
  );
  assert.deepEqual(json.report.followUp.secrets.at(0).names, ["SECRET"]);
  const answer = await target.visit(workerName(0));
  assert.deepEqual(JSON.parse(answer.text), { name: "worker 0", key: "value 0", rows: ROWS, object: "object 0" });
  const again = await importAll("--yes");
  assert.match(again.stdout, /Nothing to do\./);
  const withoutState = await importAll("--yes", "--json", "--state", "other.json");
  assert.deepEqual(
    withoutState.json.items.filter(({ action }: { action: string }) => action !== "unchanged"),
    [],
  );
});

test("does not import an incomplete export", needsFfmpeg, async () => {
  const folder = await folderWith(scope, { "export.progress.json": "{}" });
  const { code, json } = await runCli(["import", "folder", folder, "--json"], {
    cwd,
    env: { API_BASE_URL: target.api, API_TOKEN: target.token },
  });
  assert.deepEqual([code, json.error.code], [1, "E_EXPORT_UNFINISHED"]);
});
