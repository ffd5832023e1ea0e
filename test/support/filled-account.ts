import { readFile } from "node:fs/promises";

/** A server and an account on it. */
export interface AccountAccess {
  /** Ends in /client/v4. */
  api: string;
  token: string;
  account: string;
}

export interface AccountSizes {
  zones: number;
  /** Total over all zones. */
  rules: number;
  workers: number;
  keys: number;
  objects: number;
  databases: number;
  videos: number;
  liveInputs: number;
}

/** Resources that must exist after an import, by kind, in a form that can be compared between two servers. */
type AccountContents = Record<string, Map<string, string>>;

export const ROWS = 50;
const WORKER = `export default { async fetch(request, env) {
  const row = await env.DB.prepare("SELECT count(*) AS n FROM notes").first();
  return Response.json({ name: env.NAME, key: await env.KV.get("key-0"), rows: row.n, object: await (await env.FILES.get("object-0"))?.text() });
}, async queue() {} };`;
const CAPTIONS = "WEBVTT\n\n00:00.000 --> 00:01.000\nHello\n";

interface Requests {
  // oxlint-disable-next-line no-explicit-any
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<any>;
  text(path: string): Promise<string>;
}

/**
 * Creates functions that send requests with JSON, FormData, bytes or text as body, and reject if the server refuses.
 */
export function requestsTo({ api, token }: Pick<AccountAccess, "api" | "token">): Requests {
  async function send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const isRaw = body === undefined || body instanceof FormData || body instanceof Uint8Array;
    const response = await fetch(`${api}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(isRaw ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: isRaw ? (body as FormData) : JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}: ${text.slice(0, 500)}`);
    return text;
  }
  return {
    text: (path) => send("GET", path),
    call: async (method, path, body, headers) =>
      (JSON.parse((await send(method, path, body, headers)) || "{}") as { result?: unknown }).result,
  };
}

/** The command and the options that connect an import to the two servers. */
export const importArguments = (
  source: Pick<AccountAccess, "api" | "token">,
  target: Pick<AccountAccess, "api" | "token">,
): string[] => {
  const from = ["--from", source.api, "--from-token", source.token];
  return ["import", "cloudflare", ...from, "--url", target.api, "--token", target.token];
};

/** Creates the resources of an account that has everything an import copies. */
export async function fillAccount(
  access: AccountAccess,
  sizes: AccountSizes,
  clipPath: string,
  audioPath?: string,
): Promise<void> {
  const { call } = requestsTo(access);
  const base = `/accounts/${access.account}`;
  const { id: namespace } = await call("POST", `${base}/storage/kv/namespaces`, { title: "settings" });
  await call(
    "PUT",
    `${base}/storage/kv/namespaces/${namespace}/bulk`,
    Array.from({ length: sizes.keys }, (_, i) => ({
      key: `key-${i}`,
      // Every tenth value is not text.
      ...(i % 10 === 9
        ? { value: Buffer.from([0xff, 0xfe, i % 256, 0]).toString("base64"), base64: true }
        : { value: `value ${i}` }),
      ...(i % 7 === 0 && { metadata: { n: i } }),
    })),
  );
  await call("POST", `${base}/r2/buckets`, { name: "files" });
  for (let i = 0; i < sizes.objects; i++)
    await call("PUT", `${base}/r2/buckets/files/objects/object-${i}`, Buffer.from(`object ${i}`), {
      "content-type": "text/plain",
      "x-amz-meta-n": String(i),
    });
  const databases: string[] = [];
  for (let i = 0; i < sizes.databases; i++) {
    const { uuid } = await call("POST", `${base}/d1/database`, { name: `base-${i}` });
    databases.push(uuid as string);
    await call("POST", `${base}/d1/database/${uuid}/query`, {
      sql: `CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT, data BLOB); ${Array.from({ length: ROWS }, (_, n) => `INSERT INTO notes (text, data) VALUES ('it''s note ${n} of ${i}', x'00ff${String(n).padStart(2, "0")}');`).join(" ")}`,
    });
  }
  const { queue_id: queue } = await call("POST", `${base}/queues`, {
    queue_name: "jobs",
    settings: { delivery_delay: 5 },
  });
  for (let i = 0; i < sizes.workers; i++) await createWorker(call, base, i, { namespace, database: databases[0]! });
  await call("POST", `${base}/queues/${queue}/consumers`, {
    type: "worker",
    script_name: workerName(0),
    settings: { batch_size: 7, max_retries: 2 },
  });
  await call("POST", `${base}/email/routing/addresses`, { email: "ada@inbox.example", status: "verified" });
  for (let zone = 0; zone < sizes.zones; zone++) await createZone(call, base, access.account, zone, sizes);
  await createVideos(access, sizes, clipPath);
  if (audioPath !== undefined) await addAudioTracks(access, audioPath);
  await call("PUT", `${base}/stream/webhook`, { notificationUrl: "https://hooks.example/stream" });
  await call("POST", `${base}/stream/keys`);
  for (let i = 0; i < sizes.liveInputs; i++) {
    const { uid } = await call("POST", `${base}/stream/live_inputs`, {
      meta: { name: `live ${i}` },
      recording: { mode: "automatic", timeoutSeconds: 10 },
    });
    await call("POST", `${base}/stream/live_inputs/${uid}/outputs`, {
      url: "rtmp://restream.example/app",
      streamKey: `output-${i}`,
      enabled: false,
    });
  }
  await call("POST", `${base}/email/sending/suppressions`, { email: "gone@inbox.example", note: "left" });
}

async function createWorker(
  call: Requests["call"],
  base: string,
  i: number,
  { namespace, database }: { namespace: string; database: string },
): Promise<void> {
  const form = new FormData();
  form.set(
    "metadata",
    JSON.stringify({
      main_module: "index.js",
      compatibility_date: "2026-01-01",
      bindings: [
        { type: "plain_text", name: "NAME", text: `worker ${i}` },
        { type: "kv_namespace", name: "KV", namespace_id: namespace },
        { type: "r2_bucket", name: "FILES", bucket_name: "files" },
        { type: "d1", name: "DB", id: database },
        { type: "queue", name: "JOBS", queue_name: "jobs" },
        { type: "secret_text", name: "SECRET", text: "hidden" },
        // Named so that the required worker is last in alphabetical order.
        ...(i === 0 ? [] : [{ type: "service", name: "NEXT", service: workerName(i - 1) }]),
      ],
    }),
  );
  form.set("index.js", new File([WORKER], "index.js", { type: "application/javascript+module" }));
  const path = `${base}/workers/scripts/${workerName(i)}`;
  await call("PUT", path, form);
  await call("PUT", `${path}/schedules`, [{ cron: "*/30 * * * *" }]);
  await call("POST", `${path}/subdomain`, { enabled: true });
}

export const workerName = (i: number): string => `worker-${String(99 - i).padStart(2, "0")}`;

async function createZone(
  call: Requests["call"],
  base: string,
  account: string,
  index: number,
  { zones, rules, workers }: AccountSizes,
): Promise<void> {
  const name = `zone${index}.example`;
  const { id } = await call("POST", "/zones", { name, account: { id: account } });
  for (const record of [
    { type: "A", name: `www.${name}`, content: "192.0.2.1", ttl: 3600, comment: "web" },
    { type: "AAAA", name: `www.${name}`, content: "2001:db8::1", ttl: 3600 },
    { type: "TXT", name: `note.${name}`, content: '"one text"', ttl: 600 },
    { type: "SRV", name: `_sip._tcp.${name}`, data: { priority: 1, weight: 2, port: 5060, target: `www.${name}` } },
    { type: "CAA", name, data: { flags: 0, tag: "issue", value: "ca.example" } },
  ])
    await call("POST", `/zones/${id}/dns_records`, record);
  await call("POST", `/zones/${id}/email/routing/dns`, {});
  await call("POST", `/zones/${id}/workers/routes`, { pattern: `www.${name}/api/*`, script: workerName(0) });
  for (let i = 0; i < Math.floor(rules / zones); i++)
    await call("POST", `/zones/${id}/email/routing/rules`, {
      name: `rule ${i}`,
      enabled: true,
      priority: i + 1,
      matchers: [{ type: "literal", field: "to", value: `user${i}@${name}` }],
      actions: [
        i % 3 === 0
          ? { type: "worker", value: [workerName(i % workers)] }
          : i % 3 === 1
            ? { type: "forward", value: ["ada@inbox.example"] }
            : { type: "drop" },
      ],
    });
  await call("PUT", `/zones/${id}/email/routing/rules/catch_all`, {
    enabled: true,
    matchers: [{ type: "all" }],
    actions: [{ type: "forward", value: ["ada@inbox.example"] }],
  });
  if (index === 0) await call("POST", `/zones/${id}/email/sending/subdomains`, { name: `mail.${name}` });
  void base;
}

/** Uploads the same file several times and waits until each video can be played. */
async function createVideos(access: AccountAccess, { videos }: AccountSizes, clipPath: string): Promise<void> {
  const { call } = requestsTo(access);
  const file = await readFile(clipPath);
  for (let i = 0; i < videos; i++) {
    const form = new FormData();
    form.set("file", new File([file], `video ${i}.mp4`, { type: "video/mp4" }));
    const { uid } = await call("POST", `/accounts/${access.account}/stream`, form);
    const path = `/accounts/${access.account}/stream/${uid}`;
    await call("POST", path, {
      meta: { name: `video ${i}`, series: "import" },
      creator: `creator-${i}`,
      requireSignedURLs: i % 4 === 3,
      ...(i % 4 === 2 && { allowedOrigins: ["example.com"] }),
    });
    const captions = new FormData();
    captions.set("file", new File([CAPTIONS], "en.vtt", { type: "text/vtt" }));
    await call("PUT", `${path}/captions/en`, captions);
    await call("PUT", `${path}/chapters`, { chapters: [{ start: 0, title: `Start of video ${i}` }] });
    await untilReady(access, uid as string);
  }
}

/** Adds a second language to a public and to a protected video. */
async function addAudioTracks(access: AccountAccess, audioPath: string): Promise<void> {
  const { call } = requestsTo(access);
  const base = `/accounts/${access.account}/stream`;
  const file = await readFile(audioPath);
  const videos: { uid: string; requireSignedURLs: boolean }[] = await call("GET", base);
  for (const isSigned of [false, true]) {
    const { uid } = videos.find(({ requireSignedURLs }) => requireSignedURLs === isSigned)!;
    const form = new FormData();
    form.set("label", "French");
    form.set("file", new File([file], "french.m4a", { type: "audio/mp4" }));
    await call("POST", `${base}/${uid}/audio`, form);
    const end = Date.now() + 100_000;
    while ((await call("GET", `${base}/${uid}/audio`)).audio[0].status !== "ready") {
      if (Date.now() > end) throw new Error(`the audio track of ${uid} is not ready`);
      await new Promise((resolve) => void setTimeout(resolve, 200));
    }
  }
}

/** Waits until a video can be played. */
export async function untilReady(access: AccountAccess, uid: string, timeoutMs = 120_000): Promise<void> {
  const { call } = requestsTo(access);
  const end = Date.now() + timeoutMs;
  for (;;) {
    const video = await call("GET", `/accounts/${access.account}/stream/${uid}`);
    if (video.readyToStream === true) return;
    if (video.status.state === "error" || Date.now() > end)
      throw new Error(`video ${uid} is not ready: ${JSON.stringify(video.status)}`);
    await new Promise((resolve) => void setTimeout(resolve, 200));
  }
}

/** Reads everything that a move must keep. */
export async function readAccount(access: AccountAccess): Promise<AccountContents> {
  const { call, text } = requestsTo(access);
  const base = `/accounts/${access.account}`;
  const contents: AccountContents = {};
  const put = (kind: string, key: string, value: unknown) =>
    void (contents[kind] ??= new Map()).set(key, JSON.stringify(value));
  for (const { id, name } of await call("GET", `/zones?per_page=50`)) {
    put("zones", id, name);
    for (const { type, name: record, content, ttl } of await call("GET", `/zones/${id}/dns_records?per_page=100`))
      // Keys and name servers differ between servers.
      if (
        !["NS", "SOA", "MX"].includes(type) &&
        !String(record).includes("_domainkey") &&
        !/v=spf1|v=DMARC1/.test(content)
      )
        put("dns_records", `${record} ${type} ${content}`, ttl);
    for (let page = 1; ; page++) {
      const rules = await call("GET", `/zones/${id}/email/routing/rules?page=${page}&per_page=50`);
      for (const { matchers, actions, enabled, name: rule } of rules)
        put("rules", `${name} ${JSON.stringify(matchers)}`, { actions, enabled, rule });
      if (rules.length < 50) break;
    }
    for (const { pattern, script } of await call("GET", `/zones/${id}/workers/routes`)) put("routes", pattern, script);
  }
  for (const { id, title } of await call("GET", `${base}/storage/kv/namespaces`)) {
    put("namespaces", id, title);
    const namespace = `${base}/storage/kv/namespaces/${id}`;
    for (const { name, metadata } of await call("GET", `${namespace}/keys?limit=1000`))
      put("keys", `${id} ${name}`, { metadata, value: await text(`${namespace}/values/${encodeURIComponent(name)}`) });
  }
  for (const { uuid, name } of await call("GET", `${base}/d1/database`)) {
    const rows = await call("POST", `${base}/d1/database/${uuid}/query`, { sql: "SELECT * FROM notes ORDER BY id" });
    put("databases", uuid, { name, rows: rows[0].results });
  }
  for (const { key, etag, custom_metadata } of await call(
    "GET",
    `${base}/r2/buckets/files/objects?per_page=1000`,
  ).catch(() => []))
    put("objects", key, { etag, custom_metadata });
  for (const { id } of await call("GET", `${base}/workers/scripts`)) {
    const { bindings, compatibility_date } = await call("GET", `${base}/workers/scripts/${id}/settings`);
    const kept = bindings.filter(({ type }: { type: string }) => type !== "secret_text");
    const { schedules } = await call("GET", `${base}/workers/scripts/${id}/schedules`);
    put("workers", id, {
      bindings: kept.sort((a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1)),
      compatibility_date,
      crons: schedules.map(({ cron }: { cron: string }) => cron),
    });
  }
  for (const { queue_name, settings, consumers } of await call("GET", `${base}/queues`))
    put("queues", queue_name, {
      settings,
      consumers: consumers.map((consumer: { script: string; settings: object }) => [
        consumer.script,
        consumer.settings,
      ]),
    });
  for (const video of await call("GET", `${base}/stream`)) {
    const { uid, meta, creator, requireSignedURLs, allowedOrigins } = video;
    const captions = await call("GET", `${base}/stream/${uid}/captions`);
    const { chapters } = await call("GET", `${base}/stream/${uid}/chapters`);
    const { audio } = await call("GET", `${base}/stream/${uid}/audio`);
    const tracks = audio.map(({ label }: { label: string }) => label);
    put("videos", uid, { meta, creator, requireSignedURLs, allowedOrigins, captions, chapters, tracks });
  }
  for (const { uid } of (await call("GET", `${base}/stream/live_inputs`)).liveInputs) {
    const { meta, recording, srt, rtmp, webRTC } = await call("GET", `${base}/stream/live_inputs/${uid}`);
    const key = srt?.passphrase ?? rtmp?.streamKey ?? new URL(webRTC.url).pathname;
    put("live_inputs", uid, { meta, recording, key });
  }
  return contents;
}

/** Returns the counts of equal resources, and the names of those that are absent or differ. */
export function compareAccounts(source: AccountContents, target: AccountContents) {
  const moved: Record<string, number> = {};
  const lost: string[] = [];
  for (const [kind, resources] of Object.entries(source)) {
    moved[kind] = 0;
    for (const [key, value] of resources)
      if (target[kind]?.get(key) === value) moved[kind]++;
      else
        lost.push(`${kind} ${key}: ${value.slice(0, 200)} became ${target[kind]?.get(key)?.slice(0, 200) ?? "absent"}`);
  }
  return { moved, lost };
}
