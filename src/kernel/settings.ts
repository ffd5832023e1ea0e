import { z } from "zod";

/**
 * The settings of the program: the one place where they are named, bounded, explained and given defaults. Validation, environment
 * variables, the JSON schema, the commented example and the page of the manual are made from this schema.
 * A field stands here only when the program reads it.
 */
const port = (preset: number, description: string) => z.number().int().min(0).max(65_535).default(preset).meta({ description, example: preset });
const host = (description: string) => z.string().min(1).default("127.0.0.1").meta({ description, example: "127.0.0.1" });
const count = (preset: number, min: number, max: number, description: string) => z.number().int().min(min).max(max).default(preset).meta({ description, example: preset });
const group = <Shape extends z.core.$ZodLooseShape>(description: string, shape: Shape) => z.strictObject(shape).prefault({} as never).meta({ description });

export const settingsSchema = z.strictObject({
  data_dir: z.string().min(1).default(".reelpost").meta({
    description: "Folder that holds everything the program keeps. A relative path is meant from the folder of the settings file, or from where the program starts",
    example: "/var/lib/reelpost",
  }),
  log: group("The program's own log: JSON lines on standard error", {
    level: z.enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"]).default("info").meta({ description: "Least severe level that is written", example: "info" }),
  }),
  database: group("Where rows are kept", {
    url: z.string().default("").meta({ description: "`postgres://user:password@host/database`; empty: SQLite in the data directory", example: "postgres://reelpost:secret@db.internal/reelpost" }),
    connections: count(10, 1, 500, "Connections to PostgreSQL at most"),
  }),
  objects: group("Where the modules of workers, large values and R2 objects are kept", {
    dir: z.string().min(1).default("objects").meta({ description: "Folder; a relative path is meant from the data directory. Processes that share a database share it", example: "/srv/reelpost/objects" }),
  }),
  secrets: group("The key that seals secrets in the database", {
    key: z.string().default("").meta({ description: "Base64 of 32 bytes, several separated by commas with the newest first; goes before the file. `openssl rand -base64 32` makes one", example: "" }),
    key_file: z.string().default("").meta({ description: "File with such keys, one per line, for its owner only; empty: `secrets.key` in the data directory, made at the first start", example: "/etc/reelpost/secrets.key" }),
  }),
  http: group("The HTTP server: the API and the workers", {
    host: host("Address to listen on"),
    port: port(8787, "TCP port; 0 takes a free one"),
    public_url: z.string().default("").meta({ description: "How clients reach this server, for the addresses it tells; empty: as the request says", example: "https://api.example.com" }),
    trusted_proxies: z.array(z.string().min(1)).default([]).meta({ description: "Addresses and ranges whose X-Forwarded-For and X-Forwarded-Proto are believed", example: ["127.0.0.1"] }),
    metrics_token: z.string().default("").meta({ description: "What /metrics wants as `Authorization: Bearer`; empty: nothing, and only this machine may ask", example: "" }),
  }),
  api: group("The v4 API", {
    token: z.string().default("").meta({ description: "Value of the first API token, read at the first start only; empty: one is made and printed. At least 32 characters", example: "" }),
    account_name: z.string().min(1).max(100).default("Main").meta({ description: "Name of the account made at the first start", example: "Example Ltd" }),
    email: z.string().min(3).default("admin@reelpost.internal").meta({ description: "Address of the user made at the first start", example: "admin@example.com" }),
    rate_limit: count(1200, 0, 1_000_000_000, "Requests of one token in five minutes; 0: no limit"),
  }),
  smtp: group("The SMTP server that takes incoming mail", {
    host: host("Address to listen on"),
    port: port(2525, "TCP port; 0 takes a free one. Mail of the internet arrives at 25"),
  }),
  email: group("Email Routing: what the records of routed domains name", {
    mx: z.array(z.string().min(1)).min(1).max(10).default(["route1.reelpost.internal", "route2.reelpost.internal", "route3.reelpost.internal"]).meta({ description: "Hosts where mail of routed domains arrives, the preferred one first: this server's own names", example: ["mx1.example.com", "mx2.example.com"] }),
    spf_include: z.string().min(1).default("_spf.reelpost.internal").meta({ description: "Name of the SPF record that lists the addresses mail leaves from", example: "_spf.example.com" }),
    dkim_selector: z.string().min(1).max(60).default("reelpost").meta({ description: "Selector of the DKIM keys of routed domains", example: "reelpost" }),
    from: z.string().min(3).default("noreply@reelpost.internal").meta({ description: "Sender of the mail that asks a destination address to agree", example: "Example Mail <noreply@example.com>" }),
    postmaster: z.string().default("").meta({ description: "Where mail for postmaster goes that no rule takes; empty: the account's first verified address", example: "ops@example.com" }),
  }),
  dns: group("The zones of accounts", {
    name_servers: z.array(z.string().min(1)).min(1).default(["ns1.reelpost.internal", "ns2.reelpost.internal"]).meta({ description: "Hosts that serve the zones: what a registrar is told", example: ["ns1.example.com", "ns2.example.com"] }),
  }),
  workers: group("Worker processes and what one of them may use", {
    domain: z.string().min(1).default("localhost").meta({ description: "A worker is reached at `<worker>.<account's subdomain>.<this domain>`", example: "workers.example.com" }),
    script_mb: count(10, 1, 128, "Size of one upload, all modules together, in MiB"),
    cpu_ms: count(30_000, 1, 300_000, "CPU milliseconds of one invocation; a worker's own limits.cpu_ms goes before it"),
    email_wall_ms: count(60_000, 1, 900_000, "Milliseconds an email handler may take, waiting included"),
    scheduled_wall_ms: count(900_000, 1, 3_600_000, "Milliseconds a scheduled handler may take, waiting included"),
    heap_mb: count(128, 16, 4096, "JavaScript heap of a process, in MiB"),
    rss_mb: count(512, 64, 16_384, "Resident memory of a process, in MiB: heap, buffers and messages in flight"),
    concurrency: count(64, 1, 1000, "Messages one worker handles at once; more wait"),
    max_processes: count(200, 1, 10_000, "Worker processes up at once; the one that rested longest makes room"),
    idle_ms: count(300_000, 100, 86_400_000, "Milliseconds without work after which a process ends"),
  }),
  egress: group("Where workers may connect to", {
    allow_loopback: z.boolean().default(false).meta({ description: "This machine's own addresses: 127.0.0.0/8 and ::1", example: false }),
    allow_private: z.boolean().default(false).meta({ description: "Private, link-local and other addresses that are no place on the internet", example: false }),
    deny_ports: z.array(z.number().int().min(0).max(65_535)).default([25]).meta({ description: "TCP ports that are closed whatever the address", example: [25] }),
    allow: z.array(z.string().min(1)).default([]).meta({ description: "Addresses and ranges that are open before every other rule", example: ["10.1.2.0/24"] }),
  }),
});

export type Settings = z.output<typeof settingsSchema>;
export type SettingsInput = z.input<typeof settingsSchema>;
