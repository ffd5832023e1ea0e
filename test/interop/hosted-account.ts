import { numberedPage, type HostedReply } from "../support/hosted-api.ts";

/** Resources of an account of the hosted service, in the format of its published API. */

export const ACCOUNT = "a".repeat(32);
export const ZONE = "b".repeat(32);
export const NAMESPACE = "c".repeat(32);
export const DATABASE = "dddddddd-1111-4222-8333-444444444444";
export const VIDEO = "e".repeat(32);
export const INPUT = "f".repeat(32);
const WATERMARK = "9".repeat(32);
export const KEY = `${"1".repeat(32)}k${"2".repeat(32)}`;
const PLAYBACK_KEY = `${"3".repeat(32)}k${"4".repeat(32)}`;
export const TIME = "2026-01-02T03:04:05Z";
export const RULES = 60;
export const KEYS = 250;

export const zone = () => ({
  id: ZONE,
  name: "moved.example",
  type: "full",
  status: "active",
  paused: false,
  name_servers: ["ada.ns.example", "bob.ns.example"],
  account: { id: ACCOUNT, name: "Acme" },
  owner: { id: ACCOUNT, name: "Acme", type: "organization" },
  meta: {},
  plan: {},
  tenant: {},
  tenant_unit: {},
  permissions: [],
  created_on: TIME,
  modified_on: TIME,
  activated_on: TIME,
  development_mode: 0,
  original_name_servers: null,
  original_registrar: null,
  original_dnshost: null,
});

const record = (id: number, fields: object) => ({
  id: String(id).padStart(32, "0"),
  ttl: 1,
  proxied: false,
  proxiable: true,
  settings: {},
  comment: null,
  tags: [],
  meta: {},
  data: {},
  created_on: TIME,
  modified_on: TIME,
  ...fields,
});

export const records = () => [
  record(1, { type: "A", name: "moved.example", content: "192.0.2.1", proxied: true }),
  record(2, { type: "CNAME", name: "www.moved.example", content: "moved.example", ttl: 7200 }),
  record(3, {
    type: "MX",
    name: "moved.example",
    content: "route1.mx.cloudflare.net",
    priority: 5,
    meta: { email_routing: true, read_only: true },
  }),
  record(4, { type: "TXT", name: "moved.example", content: '"v=spf1 include:_spf.mx.cloudflare.net ~all"' }),
  record(5, { type: "TXT", name: "cf2024-1._domainkey.moved.example", content: '"v=DKIM1; p=AAAA"' }),
];

const rule = (i: number) => ({
  tag: String(i).padStart(32, "a"),
  id: String(i).padStart(32, "a"),
  name: `rule ${i}`,
  enabled: true,
  priority: i,
  matchers: [{ type: "literal", field: "to", value: `user${i}@moved.example` }],
  actions: [i === 0 ? { type: "worker", value: ["mailer"] } : { type: "forward", value: ["ada@inbox.example"] }],
  source: "api",
});

export function emailRoutes(): Record<string, HostedReply | ((request: { query: URLSearchParams }) => HostedReply)> {
  const base = `/zones/${ZONE}/email/routing`;
  return {
    [`GET ${base}`]: {
      result: {
        id: "7".repeat(32),
        tag: "7".repeat(32),
        name: "moved.example",
        enabled: true,
        status: "ready",
        skip_wizard: true,
        created: TIME,
        modified: TIME,
      },
    },
    [`GET ${base}/rules`]: ({ query }) =>
      numberedPage(
        Array.from({ length: RULES }, (_, i) => rule(i)),
        query,
      ),
    [`GET ${base}/rules/catch_all`]: {
      result: {
        tag: "8".repeat(32),
        id: "8".repeat(32),
        name: "",
        enabled: false,
        matchers: [{ type: "all" }],
        actions: [{ type: "drop" }],
      },
    },
    [`GET /zones/${ZONE}/email/sending/subdomains`]: {
      status: 403,
      errors: [{ code: 10000, message: "Authentication error" }],
    },
    [`GET /accounts/${ACCOUNT}/email/routing/addresses`]: ({ query }) =>
      numberedPage(
        query.get("verified") === "false"
          ? []
          : [
              {
                id: "6".repeat(32),
                tag: "6".repeat(32),
                email: "ada@inbox.example",
                verified: TIME,
                created: TIME,
                modified: TIME,
              },
            ],
        query,
      ),
    [`GET /accounts/${ACCOUNT}/email/sending/suppressions`]: {
      status: 404,
      errors: [{ code: 10007, message: "Not found" }],
    },
  };
}

export function storageRoutes(
  origin: string,
): Record<
  string,
  HostedReply | ((request: { query: URLSearchParams; json: { keys: string[]; sql: string } }) => HostedReply)
> {
  const namespaces = `/accounts/${ACCOUNT}/storage/kv/namespaces`;
  const databases = `/accounts/${ACCOUNT}/d1/database`;
  let polls = 0;
  return {
    [`GET ${namespaces}`]: ({ query }) =>
      numberedPage([{ id: NAMESPACE, title: "settings", supports_url_encoding: true }], query, 1000),
    [`GET ${namespaces}/${NAMESPACE}/keys`]: ({ query }) => {
      const start = Number(query.get("cursor") ?? 0);
      const names = Array.from({ length: KEYS }, (_, i) => ({
        name: `key ${i}`,
        ...(i === 0 && { metadata: { n: 0 } }),
      }));
      const end = start + 100;
      return {
        result: names.slice(start, end),
        result_info: { count: Math.min(100, KEYS - start), cursor: end < KEYS ? String(end) : "" },
      };
    },
    [`POST ${namespaces}/${NAMESPACE}/bulk/get`]: ({ json }) => ({
      result: { values: Object.fromEntries(json.keys.map((key) => [key, `value of ${key}`])) },
    }),
    [`GET /accounts/${ACCOUNT}/r2/buckets`]: {
      status: 403,
      errors: [{ code: 10042, message: "Please enable R2 through the Dashboard." }],
    },
    [`GET ${databases}`]: ({ query }) =>
      numberedPage([{ uuid: DATABASE, name: "base", version: "production", created_at: TIME }], query, 1000),
    [`GET ${databases}/${DATABASE}`]: {
      result: { uuid: DATABASE, name: "base", version: "production", created_at: TIME, file_size: 8192, num_tables: 1 },
    },
    [`POST ${databases}/${DATABASE}/raw`]: ({ json: { sql } }) => {
      const rows = sql.includes("sqlite_master")
        ? [["table", "notes", "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)"]]
        : sql.includes("count(*)")
          ? [[1]]
          : sql.includes("table_info")
            ? [
                [0, "id"],
                [1, "text"],
              ]
            : [[1, "1", "'it''s here'"]];
      return { result: [{ success: true, meta: {}, results: { columns: [], rows } }] };
    },
    [`POST ${databases}/${DATABASE}/export`]: () =>
      polls++ === 0
        ? { status: 202, result: { success: true, type: "export", at_bookmark: "0-1", status: "active", messages: [] } }
        : {
            result: {
              success: true,
              type: "export",
              at_bookmark: "0-1",
              status: "complete",
              messages: [],
              result: { filename: "base.sql", signed_url: `${origin}/dump.sql` },
            },
          },
    "GET /dump.sql": {
      raw: "PRAGMA defer_foreign_keys=TRUE;\nCREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT);\nINSERT INTO \"notes\" VALUES(1,'it''s here');\n",
    },
  };
}

export function workerRoutes(): Record<string, HostedReply> {
  const scripts = `/accounts/${ACCOUNT}/workers/scripts`;
  const boundary = "form";
  const code = "export default { async email() {} , fetch: (r, env) => new Response(env.NAME) };";
  return {
    [`GET ${scripts}`]: {
      result: [
        {
          id: "mailer",
          etag: "1",
          tag: "t",
          created_on: TIME,
          modified_on: TIME,
          handlers: ["email"],
          has_assets: false,
          has_modules: true,
          logpush: false,
          usage_model: "standard",
        },
      ],
    },
    [`GET ${scripts}/mailer/content/v2`]: {
      raw: `--${boundary}\r\ncontent-disposition: form-data; name="index.js"; filename="index.js"\r\ncontent-type: application/javascript+module\r\n\r\n${code}\r\n--${boundary}--\r\n`,
      headers: { "content-type": `multipart/form-data; boundary=${boundary}`, "cf-entrypoint": "index.js" },
    },
    [`GET ${scripts}/mailer/settings`]: {
      result: {
        bindings: [
          { type: "plain_text", name: "NAME", text: "mailer" },
          { type: "secret_text", name: "TOKEN" },
          { type: "browser", name: "BROWSER" },
          { type: "kv_namespace", name: "KV", namespace_id: NAMESPACE },
        ],
        compatibility_date: "2026-01-01",
        compatibility_flags: [],
        usage_model: "standard",
        logpush: false,
        tags: [],
        tail_consumers: [],
      },
    },
    [`GET ${scripts}/mailer/schedules`]: {
      result: { schedules: [{ cron: "0 * * * *", created_on: TIME, modified_on: TIME }] },
    },
    [`GET ${scripts}/mailer/secrets`]: { result: [{ name: "TOKEN", type: "secret_text" }] },
    [`GET ${scripts}/mailer/subdomain`]: { result: { enabled: true, previews_enabled: false } },
  };
}

export const watermark = () => ({
  uid: WATERMARK,
  name: "logo",
  size: 100,
  width: 10,
  height: 10,
  opacity: 1,
  padding: 0.05,
  scale: 0.15,
  position: "upperRight",
  created: TIME,
  downloadedFrom: null,
});

export const video = (origin: string) => ({
  uid: VIDEO,
  creator: "ada",
  thumbnail: `${origin}/${VIDEO}/thumbnails/thumbnail.jpg`,
  thumbnailTimestampPct: 0.5,
  readyToStream: true,
  readyToStreamAt: TIME,
  status: { state: "ready", pctComplete: "100.000000", errorReasonCode: "", errorReasonText: "" },
  meta: { name: "Talk" },
  created: TIME,
  modified: TIME,
  scheduledDeletion: null,
  size: 1000,
  preview: `${origin}/${VIDEO}/watch`,
  allowedOrigins: [],
  requireSignedURLs: true,
  uploaded: TIME,
  uploadExpiry: null,
  maxSizeBytes: null,
  maxDurationSeconds: null,
  duration: 4,
  input: { width: 320, height: 180 },
  playback: { hls: `${origin}/${VIDEO}/manifest/video.m3u8`, dash: `${origin}/${VIDEO}/manifest/video.mpd` },
  watermark: watermark(),
  publicDetails: { title: "Talk" },
});

export const liveInput = () => ({
  uid: INPUT,
  created: TIME,
  modified: TIME,
  meta: { name: "studio" },
  enabled: true,
  rtmps: { url: "rtmps://live.example:443/live/", streamKey: KEY },
  rtmpsPlayback: { url: "rtmps://live.example:443/live/", streamKey: PLAYBACK_KEY },
  srt: { url: "srt://live.example:778", streamId: INPUT, passphrase: KEY },
  srtPlayback: { url: "srt://live.example:778", streamId: `play${INPUT}`, passphrase: PLAYBACK_KEY },
  webRTC: { url: `https://customer.example/${"9".repeat(32)}k${INPUT}/webRTC/publish` },
  webRTCPlayback: { url: `https://customer.example/${INPUT}/webRTC/play` },
  status: null,
  recording: {
    mode: "automatic",
    timeoutSeconds: 0,
    requireSignedURLs: false,
    allowedOrigins: [],
    hideLiveViewerCount: false,
  },
});
