import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { createTransport } from "nodemailer";
import { routeAll, startReelpostMailServer, type ReelpostMailServer } from "../bench/smtp-accept/ours.ts";
import type { Drill, DrillContext } from "./harness/drill.ts";

const run = promisify(execFile);
const MAIN = join(import.meta.dirname, "..", "src", "cli", "main.ts");
const DOMAIN = "drill.example";
const WARM_UP_MS = 15_000;
/** Messages of this size are stored as objects; smaller ones are stored in rows. */
const LARGE_BYTES = 300 * 1024;

const WORKER = `
import { DurableObject } from "cloudflare:workers";
export class Ledger extends DurableObject {
  constructor(ctx, env) { super(ctx, env); ctx.storage.sql.exec("create table if not exists t (n integer primary key)"); }
  write(n) { this.ctx.storage.sql.exec("insert or ignore into t values (?)", n); return "stored"; }
  read() { return this.ctx.storage.sql.exec("select n from t").toArray().map((row) => row.n); }
}
export default {
  async fetch(request, env) {
    const [, object, n] = new URL(request.url).pathname.split("/");
    const stub = env.LEDGER.getByName(object);
    return Response.json(n === undefined ? await stub.read() : await stub.write(Number(n)));
  },
};`;

/**
 * Backs up a server under load, kills it, restores the backup elsewhere, and checks every write that was acknowledged
 * before the backup started. An overwritten or deleted value may have any later version, but must be complete.
 */
const drill: Drill = {
  name: "backup",
  async run(kit) {
    const port = 1; // The next hop is unreachable: accepted messages stay in the queue.
    const ours = await startReelpostMailServer(kit, {
      sinkPort: port,
      env: { REELPOST_OUTBOUND_FORWARD: "queue", REELPOST_API_RATE_LIMIT: "0", REELPOST_DNS_RESOLVERS: "127.0.0.1:9" },
    });
    const clip = await makeClip(kit);
    const load = await startLoad(ours, clip);
    const backups = join(kit.dir, "backups");
    const data = join(kit.dir, "reelpost");
    await wait(WARM_UP_MS / 2);
    const first = await cli(["backup", "create", backups, "--data-dir", data, "--with-secrets-key"]);
    kit.say(`first backup: ${JSON.stringify(first)}`);
    await wait(WARM_UP_MS / 2);

    const before = load.acknowledged();
    const startedAt = performance.now();
    const second = await cli(["backup", "create", backups, "--data-dir", data, "--with-secrets-key"]);
    const backupSeconds = (performance.now() - startedAt) / 1000;
    kit.say(`second backup: ${JSON.stringify(second)}`);
    const later = load.acknowledged();
    process.kill(ours.pid, "SIGKILL");
    await load.stop();
    await rm(data, { recursive: true, force: true, maxRetries: 10 });

    const verified = await cli(["backup", "verify", backups]);
    const restored = join(kit.dir, "elsewhere");
    const restoreStart = performance.now();
    await cli(["backup", "restore", backups, "--data-dir", restored]);
    const restoreSeconds = (performance.now() - restoreStart) / 1000;
    const checked = await cli(["check", "--data-dir", restored]);
    const damage = (checked["findings"] as { damage: boolean; subject: string }[]).filter((finding) => finding.damage);
    const queued = queuedMessages(restored);
    const target = await serveRestored(kit, restored, ours.token);
    const lost = await load.lost(before, target, queued);
    const summary = {
      drill: "backup",
      acknowledged: Object.values(before).reduce((sum, count) => sum + count, 0),
      acknowledged_by_kind: before,
      acknowledged_during_backup:
        Object.values(later).reduce((sum, count) => sum + count, 0) -
        Object.values(before).reduce((sum, count) => sum + count, 0),
      lost: lost.lost.length,
      partial: lost.partial.length,
      damage: damage.length,
      examples: [...lost.lost, ...lost.partial, ...damage.map(({ subject }) => subject)].slice(0, 5),
      files: second["files"],
      bytes: second["bytes"],
      added_bytes: second["added_bytes"],
      verify_problems: (verified["problems"] as unknown[]).length,
      backup_s: round(backupSeconds),
      restore_s: round(restoreSeconds),
    };
    const faults = [lost.lost, lost.partial, damage, verified["problems"] as unknown[]];
    return { summary, ok: faults.every(({ length }) => length === 0) };
  },
};
export default drill;

const wait = (ms: number) => new Promise((resolve) => void setTimeout(resolve, ms));
const round = (seconds: number) => Math.round(seconds * 100) / 100;

async function cli(args: string[]): Promise<Record<string, unknown>> {
  const options = { maxBuffer: 64 * 1024 * 1024 };
  const { stdout } = await run(process.execPath, [MAIN, ...args, "--json"], options).catch(
    // verify and check report problems with an exit code.
    (err: { stdout?: string }) => {
      if (err.stdout === undefined || err.stdout === "") throw err;
      return { stdout: err.stdout };
    },
  );
  const result = JSON.parse(stdout) as Record<string, unknown>;
  if ("error" in result) throw new Error(`reelpost ${args[0]} ${args[1]}: ${JSON.stringify(result["error"])}`);
  return result;
}

interface Target {
  api: string;
  url: string;
  token: string;
}

async function serveRestored(kit: DrillContext, data: string, token: string): Promise<Target> {
  const child = spawn(
    process.execPath,
    [MAIN, "serve", "--json", "--data-dir", data, "--port", "0", "--smtp-port", "0", "--log-level", "warn"],
    {
      stdio: ["ignore", "pipe", "inherit"],
      env: {
        ...process.env,
        REELPOST_OUTBOUND_DELIVER: "smart_host",
        REELPOST_OUTBOUND_SMART_HOSTS: "smtp://127.0.0.1:1",
        REELPOST_API_RATE_LIMIT: "0",
        ...Object.fromEntries(
          ["DASHBOARD", "DNS", "SUBMISSION", "TLS_HTTPS", "LIVE_RTMP", "LIVE_RTMPS", "LIVE_SRT"].map((name) => [
            `REELPOST_${name}_PORT`,
            "0",
          ]),
        ),
      },
    },
  );
  kit.onStop(async () => {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const ready = JSON.parse(line.toString().split("\n")[0]!) as { api: string; url: string };
  return { ...ready, token };
}

/** Bodies of the messages in the outbound queue, by the token in their subject. */
function queuedMessages(data: string): Map<string, string> {
  const db = new DatabaseSync(join(data, "reelpost.sqlite"), { readOnly: true });
  const messages = new Map<string, string>();
  try {
    const rows = db
      .prepare(
        "select id, created_at, body_in, body from outbound_messages left join outbound_bodies on message_id = id where body_in is not null",
      )
      .all() as { id: string; created_at: number; body_in: string; body: Uint8Array | null }[];
    for (const row of rows) {
      const day = new Date(row.created_at).toISOString().slice(0, 10);
      const raw =
        row.body === null
          ? readFileSync(join(data, "objects", "mail", "out", day, `${row.id}.eml`))
          : Buffer.from(row.body);
      const subject = /^Subject: message-(\d+)/m.exec(raw.toString("latin1"))?.[1];
      if (subject !== undefined) messages.set(subject, raw.toString("latin1"));
    }
  } finally {
    db.close();
  }
  return messages;
}

async function makeClip(kit: DrillContext): Promise<Buffer> {
  await mkdir(kit.dir, { recursive: true });
  const path = join(kit.dir, "clip.mp4");
  const source = ["-f", "lavfi", "-i", "testsrc=size=64x64:rate=10:duration=1"];
  await run("ffmpeg", [
    "-v",
    "error",
    ...source,
    "-c:v",
    "libx264",
    "-preset",
    "ultrafast",
    "-pix_fmt",
    "yuv420p",
    path,
  ]);
  return readFileSync(path);
}

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** Returns a value that contains its version, with bytes that depend on the version. */
function valueOf(key: string, version: number, size: number): Buffer {
  const head = `${key} ${version} `;
  const body = Buffer.alloc(size, sha256(Buffer.from(head)));
  return Buffer.concat([Buffer.from(head), body, Buffer.from(" end")]);
}

type Kind = "kv" | "r2" | "d1" | "durable_objects" | "mail" | "api" | "uploads";

async function startLoad(ours: ReelpostMailServer, clip: Buffer) {
  const { call, account, api, url, token } = ours;
  const headers = { authorization: `Bearer ${token}` };
  const zone = (await routeAll(ours, DOMAIN, "reader@sink.example")).zone;
  const kv = (await call("POST", `/accounts/${account}/storage/kv/namespaces`, { title: "drill" })).id as string;
  await call("POST", `/accounts/${account}/r2/buckets`, { name: "drill" });
  const d1 = (await call("POST", `/accounts/${account}/d1/database`, { name: "drill" })).uuid as string;
  const query = (sql: string, params: unknown[] = []) =>
    call("POST", `/accounts/${account}/d1/database/${d1}/query`, { sql, params });
  await query("create table t (n integer primary key, content text)");
  const form = new FormData();
  form.set(
    "metadata",
    JSON.stringify({
      main_module: "index.js",
      compatibility_date: "2026-10-01",
      bindings: [{ type: "durable_object_namespace", name: "LEDGER", class_name: "Ledger" }],
      migrations: { new_tag: "v1", new_sqlite_classes: ["Ledger"] },
    }),
  );
  form.set("index.js", new File([WORKER], "index.js", { type: "application/javascript+module" }));
  await ok(fetch(`${api}/accounts/${account}/workers/scripts/ledger`, { method: "PUT", headers, body: form }));
  await call("POST", `/accounts/${account}/workers/scripts/ledger/subdomain`, { enabled: true });

  const stopping = new AbortController();
  /** For each kind, the acknowledged writes, in order. Keyed writes have a key, a version, and a deletion flag. */
  const acknowledged: Record<Kind, { key: string; version: number }[]> = {
    kv: [],
    r2: [],
    d1: [],
    durable_objects: [],
    mail: [],
    api: [],
    uploads: [],
  };
  const isDeletion = (version: number) => version % 7 === 6;
  const sizeOf = (version: number) => (version % 3 === 0 ? 200_000 : 500);
  const failures = new Map<string, string>();

  /** Calls `write` with increasing numbers, and records each acknowledged write. */
  const lane = async (kind: Kind, write: (n: number) => Promise<{ key: string; version: number }>, pauseMs = 0) => {
    for (let n = 0; !stopping.signal.aborted; n++) {
      try {
        acknowledged[kind].push(await write(n));
      } catch (err) {
        if (!stopping.signal.aborted) failures.set(kind, String(err));
        await wait(100);
      }
      if (pauseMs > 0) await wait(pauseMs);
    }
  };
  /** Writes, overwrites and deletes a few keys: the objects of earlier versions are deleted all the time. */
  const keyed = (kind: Kind, lane: number, path: (key: string) => string) => async (n: number) => {
    const key = `${kind}-${lane}-${n % 25}`;
    const version = Math.floor(n / 25);
    await ok(
      fetch(path(key), {
        method: isDeletion(version) ? "DELETE" : "PUT",
        headers,
        ...(!isDeletion(version) && { body: new Uint8Array(valueOf(key, version, sizeOf(version))) }),
      }),
    );
    return { key, version };
  };
  const kvPath = (base: string) => (key: string) =>
    `${base}/accounts/${account}/storage/kv/namespaces/${kv}/values/${key}`;
  const r2Path = (base: string) => (key: string) => `${base}/accounts/${account}/r2/buckets/drill/objects/${key}`;
  const smtp = createTransport({
    host: "127.0.0.1",
    port: ours.smtpPort,
    pool: true,
    maxConnections: 2,
    ignoreTLS: true,
  });
  const messageOf = (n: number) =>
    `From: a@sender.example\r\nTo: info@${DOMAIN}\r\nSubject: message-${n}\r\n\r\n` +
    `${"x".repeat(70)}\r\n`.repeat(n % 10 === 0 ? LARGE_BYTES / 72 : 5) +
    `end of ${n}\r\n`;
  const lanes = [
    ...[0, 1].map((at) => lane("kv", keyed("kv", at, kvPath(api)))),
    ...[0, 1].map((at) => lane("r2", keyed("r2", at, r2Path(api)))),
    lane("d1", async (n) => {
      await query("insert or replace into t values (?, ?)", [n, `row ${n}`]);
      return { key: String(n), version: 0 };
    }),
    lane("durable_objects", async (n) => {
      const response = await ok(fetch(`${url}/workers/ledger/object-${n % 3}/${n}`));
      if (response.toString() !== '"stored"') throw new Error(`the Durable Object answered ${response.toString()}`);
      return { key: String(n), version: 0 };
    }),
    lane("mail", async (n) => {
      await smtp.sendMail({ envelope: { from: "a@sender.example", to: `info@${DOMAIN}` }, raw: messageOf(n) });
      return { key: String(n), version: 0 };
    }),
    lane("api", async (n) => {
      await call("POST", `/zones/${zone}/dns_records`, {
        type: "TXT",
        name: `t${n}.${DOMAIN}`,
        content: `"${n}"`,
        ttl: 300,
      });
      return { key: String(n), version: 0 };
    }),
    lane(
      "uploads",
      async () => {
        const upload = new FormData();
        upload.set("file", new File([new Uint8Array(clip)], "clip.mp4"));
        const response = await ok(
          fetch(`${api}/accounts/${account}/stream`, { method: "POST", headers, body: upload }),
        );
        return { key: (JSON.parse(response.toString()) as { result: { uid: string } }).result.uid, version: 0 };
      },
      1000,
    ),
  ];

  return {
    acknowledged: () =>
      Object.fromEntries(Object.entries(acknowledged).map(([kind, writes]) => [kind, writes.length])) as Record<
        Kind,
        number
      >,
    async stop() {
      stopping.abort();
      smtp.close();
      await Promise.all(lanes);
      if (failures.size > 0) throw new Error(`writes failed: ${JSON.stringify([...failures])}`);
    },
    /** Compares the restored server with the first `counts` acknowledged writes of each kind. */
    async lost(counts: Record<Kind, number>, target: Target, queued: ReadonlyMap<string, string>) {
      const lost: string[] = [];
      const partial: string[] = [];
      const wanted = (kind: Kind) => acknowledged[kind].slice(0, counts[kind]);
      const get = async (path: string) => {
        const response = await fetch(path, { headers });
        const body = Buffer.from(await response.arrayBuffer());
        if (response.status === 404) return undefined;
        if (!response.ok) throw new Error(`${path}: ${response.status} ${body.toString().slice(0, 200)}`);
        return body;
      };
      const result = async (path: string) =>
        (JSON.parse((await get(`${target.api}${path}`))!.toString()) as { result: unknown }).result;

      for (const [kind, path] of [
        ["kv", kvPath(target.api)],
        ["r2", r2Path(target.api)],
      ] as const) {
        const versions = new Map(wanted(kind).map(({ key, version }) => [key, version]));
        for (const [key, version] of versions) {
          const body = await get(path(key)).catch((err: unknown) => void partial.push(String(err)));
          if (body === undefined) {
            // A later write may have deleted it. The last write can be one version newer than the last acknowledged
            // one.
            const highest = Math.max(
              ...acknowledged[kind].filter((write) => write.key === key).map((write) => write.version),
            );
            const later = Array.from({ length: highest + 2 - version }, (_, at) => version + at);
            if (!later.some(isDeletion)) lost.push(`${key} version ${version}`);
            continue;
          }
          const found = Number(body.toString("latin1", 0, 60).split(" ")[1]);
          if (!(found >= version)) lost.push(`${key} version ${version}: found ${found}`);
          else if (!body.equals(valueOf(key, found, sizeOf(found)))) partial.push(`${key} version ${found}`);
        }
      }
      const [{ results }] = (await fetch(`${target.api}/accounts/${account}/d1/database/${d1}/query`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ sql: "select n, content from t" }),
      }).then(async (response) => ((await response.json()) as { result: unknown }).result)) as [
        { results: { n: number; content: string }[] },
      ];
      const rows = new Map(results.map(({ n, content }) => [String(n), content]));
      for (const { key } of wanted("d1")) if (rows.get(key) !== `row ${key}`) lost.push(`d1 row ${key}`);
      const stored = new Set<string>();
      for (const object of [0, 1, 2])
        for (const n of JSON.parse(
          (await get(`${target.url}/workers/ledger/object-${object}`))!.toString(),
        ) as number[])
          stored.add(String(n));
      for (const { key } of wanted("durable_objects")) if (!stored.has(key)) lost.push(`durable object write ${key}`);
      for (const { key } of wanted("mail")) {
        const raw = queued.get(key);
        if (raw === undefined) lost.push(`message ${key}`);
        else if (!raw.includes(`end of ${key}\r\n`)) partial.push(`message ${key}`);
      }
      const names = new Set<string>();
      for (let page = 1; ; page++) {
        const records = (await result(`/zones/${zone}/dns_records?type=TXT&per_page=1000&page=${page}`)) as {
          name: string;
        }[];
        for (const { name } of records) names.add(name);
        if (records.length < 1000) break;
      }
      for (const { key } of wanted("api")) if (!names.has(`t${key}.${DOMAIN}`)) lost.push(`dns record ${key}`);
      for (const { key } of wanted("uploads")) {
        const video = await get(`${target.api}/accounts/${account}/stream/${key}`);
        if (video === undefined) lost.push(`video ${key}`);
      }
      return { lost, partial };
    },
  };
}

async function ok(answer: Promise<Response>): Promise<Buffer> {
  const response = await answer;
  const body = Buffer.from(await response.arrayBuffer());
  if (!response.ok) throw new Error(`${response.url}: ${response.status} ${body.toString().slice(0, 300)}`);
  return body;
}
