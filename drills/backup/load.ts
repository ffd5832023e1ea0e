import { createHash } from "node:crypto";
import { createTransport } from "nodemailer";
import { routeAll, type ReelpostMailServer } from "../../bench/smtp-accept/ours.ts";

const DOMAIN = "drill.example";
/** Messages of at least this size are stored as objects; smaller ones are stored in rows. */
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

type Kind = "kv" | "r2" | "d1" | "durable_objects" | "mail" | "api" | "uploads";

/** The server that is compared with the acknowledged writes. */
export interface LoadTarget {
  api: string;
  url: string;
  token: string;
}

/** Writes to every kind of storage until stop(). lost() compares a restored server with the acknowledged writes. */
export async function startLoad(ours: ReelpostMailServer, clip: Buffer) {
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
    async lost(counts: Record<Kind, number>, target: LoadTarget, queued: ReadonlyMap<string, string>) {
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

const wait = (ms: number) => new Promise((resolve) => void setTimeout(resolve, ms));

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** Returns a value that contains its version, with bytes that depend on the version. */
function valueOf(key: string, version: number, size: number): Buffer {
  const head = `${key} ${version} `;
  const body = Buffer.alloc(size, sha256(Buffer.from(head)));
  return Buffer.concat([Buffer.from(head), body, Buffer.from(" end")]);
}

async function ok(answer: Promise<Response>): Promise<Buffer> {
  const response = await answer;
  const body = Buffer.from(await response.arrayBuffer());
  if (!response.ok) throw new Error(`${response.url}: ${response.status} ${body.toString().slice(0, 300)}`);
  return body;
}
