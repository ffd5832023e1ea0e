import { z } from "zod";
import { parseIdRange } from "./privileges.ts";
import { count, group, host, port, ranges } from "./setting-types.ts";
import { liveSettings, streamSettings } from "./video-settings.ts";

/**
 * The settings of the program: the one place where they are named, bounded, explained and given defaults. Validation, environment
 * variables, the JSON schema, the commented example and the page of the manual are made from this schema.
 * A field stands here only when the program reads it.
 */
export const settingsSchema = z.strictObject({
  data_dir: z.string().min(1).default(".reelpost").meta({
    description:
      "Folder that holds everything the program keeps. A relative path is meant from the folder of the settings file, or from where the program starts",
    example: "/var/lib/reelpost",
  }),
  log: group("The program's own log: JSON lines on standard error", {
    level: z
      .enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"])
      .default("info")
      .meta({ description: "Least severe level that is written", example: "info" }),
  }),
  database: group("Where rows are kept", {
    url: z.string().default("").meta({
      description: "`postgres://user:password@host/database`; empty: SQLite in the data directory",
      example: "postgres://reelpost:secret@db.internal/reelpost",
    }),
    connections: count(10, 1, 500, "Connections to PostgreSQL at most"),
  }),
  objects: group("Where the modules of workers, large values and R2 objects are kept", {
    dir: z.string().min(1).default("objects").meta({
      description: "Folder; a relative path is meant from the data directory. Processes that share a database share it",
      example: "/srv/reelpost/objects",
    }),
  }),
  secrets: group("The key that seals secrets in the database", {
    key: z.string().default("").meta({
      description:
        "Base64 of 32 bytes, several separated by commas with the newest first; goes before the file. `openssl rand -base64 32` makes one",
      example: "",
    }),
    key_file: z.string().default("").meta({
      description:
        "File with such keys, one per line, for its owner only; empty: `secrets.key` in the data directory, made at the first start",
      example: "/etc/reelpost/secrets.key",
    }),
  }),
  http: group("The HTTP server: the API and the workers", {
    host: host("Address to listen on"),
    port: port(8787, "TCP port; 0 takes a free one"),
    public_url: z.string().default("").meta({
      description: "How clients reach this server, for the addresses it tells; empty: as the request says",
      example: "https://api.example.com",
    }),
    trusted_proxies: ranges(
      [],
      "Addresses and ranges whose X-Forwarded-For and X-Forwarded-Proto are believed",
      "127.0.0.1",
    ),
    connections: count(10_000, 10, 1_000_000, "Maximum number of concurrent connections, including WebSockets"),
    connections_per_address: count(
      1000,
      1,
      1_000_000,
      "Maximum number of concurrent connections from one IPv4 address or IPv6 /64; `trusted_proxies` are exempt",
    ),
    metrics_token: z.string().default("").meta({
      description: "What /metrics wants as `Authorization: Bearer`; empty: nothing, and only this machine may ask",
      example: "",
    }),
  }),
  api: group("The v4 API", {
    token: z.string().default("").meta({
      description:
        "Value of the first API token, read at the first start only; empty: one is made and printed. At least 32 characters",
      example: "",
    }),
    account_name: z
      .string()
      .min(1)
      .max(100)
      .default("Main")
      .meta({ description: "Name of the account made at the first start", example: "Example Ltd" }),
    email: z
      .string()
      .min(3)
      .default("admin@reelpost.internal")
      .meta({ description: "Address of the user made at the first start", example: "admin@example.com" }),
    hosts: z
      .array(z.string().min(1))
      .default([])
      .meta({
        description:
          "Host names of the API and of the server's own pages. Requests for other host names are rejected, except for workers, videos and uploads. Empty: any name",
        example: ["api.example.com"],
      }),
    rate_limit: count(1200, 0, 1_000_000_000, "Requests of one token in five minutes; 0: no limit"),
  }),
  smtp: group("The SMTP server that takes incoming mail", {
    host: host("Address to listen on"),
    port: port(2525, "TCP port; 0 takes a free one. Mail of the internet arrives at 25"),
    name: z.string().default("").meta({
      description:
        "Name this server has in greetings, Received fields and results of authentication, and says HELO with; empty: the machine's own",
      example: "mx1.example.com",
    }),
    proxies: ranges(
      [],
      "Addresses and ranges of load balancers that begin each connection with a PROXY header, version 1 or 2",
      "10.0.0.5",
    ),
    connections: count(500, 1, 100_000, "Connections at once"),
    connections_per_address: count(50, 1, 100_000, "Connections at once from one IPv4 address or IPv6 /64"),
    messages_per_minute: count(0, 0, 1_000_000, "Messages in a minute from one IPv4 address or IPv6 /64; 0: no limit"),
    dnsbl: z
      .array(z.string().min(1))
      .default([])
      .meta({
        description: "DNS block lists that are asked about each client; one that is listed is refused",
        example: ["zen.spamhaus.org"],
      }),
    rspamd: z.string().default("").meta({
      description: "Where rspamd is asked about each message, such as `http://127.0.0.1:11333`; empty: nowhere",
      example: "http://127.0.0.1:11333",
    }),
  }),
  submission: group(
    "The SMTP server that takes mail to send: TLS from the first octet, user `api_token`, an API token as password",
    {
      enabled: z
        .boolean()
        .default(true)
        .meta({ description: "Whether it listens, where this process has the role smtp", example: true }),
      host: host("Address to listen on"),
      port: port(2465, "TCP port; 0 takes a free one. Clients expect 465"),
    },
  ),
  tls: group("Certificates, for SMTP and HTTPS", {
    cert_file: z.string().default("").meta({
      description:
        "PEM file with the certificate and its chain, read again when it changes; empty: from ACME, or else one that signed itself",
      example: "/etc/reelpost/tls/fullchain.pem",
    }),
    key_file: z
      .string()
      .default("")
      .meta({ description: "PEM file with its private key", example: "/etc/reelpost/tls/privkey.pem" }),
    https: z.boolean().default(false).meta({ description: "Whether to listen for HTTPS too", example: true }),
    https_port: port(8443, "TCP port of HTTPS, at the address of `http`; 0 takes a free one"),
    acme_directory: z.string().default("").meta({
      description: "Directory of an ACME server (RFC 8555) that certificates are asked from; empty: none",
      example: "https://acme-v02.api.letsencrypt.org/directory",
    }),
    acme_email: z
      .string()
      .default("")
      .meta({ description: "Where the ACME server may write about certificates", example: "ops@example.com" }),
    acme_names: z
      .array(z.string().min(1))
      .default([])
      .meta({ description: "Names the certificate is for", example: ["mx1.example.com", "api.example.com"] }),
    acme_challenge: z.enum(["http-01", "dns-01"]).default("http-01").meta({
      description:
        "How it is shown that the names are ours: by HTTP, which must reach this server at port 80, or by a record in a zone that is served here",
      example: "http-01",
    }),
    acme_ca_file: z.string().default("").meta({
      description: "PEM file with the authorities that an ACME server of one's own is trusted by",
      example: "",
    }),
  }),
  outbound: group("Mail on its way out", {
    deliver: z.enum(["files", "mx", "smart_host"]).default("files").meta({
      description:
        "`files`: nothing leaves, each message becomes a file. `mx`: to the servers of its domain. `smart_host`: to the servers below",
      example: "mx",
    }),
    smart_hosts: z
      .array(z.string().min(1))
      .default([])
      .meta({
        description:
          "Servers that take all mail, the preferred one first: `smtp://user:password@host:587`, or `smtps://` for TLS from the first octet. A password goes only to a host with a certificate that verifies, unless `?tls=require` follows, which takes any",
        example: ["smtps://user:password@mail.example.com"],
      }),
    forward: z.enum(["queue", "proxy"]).default("queue").meta({
      description:
        "What becomes of a forward that the next server puts off: `queue` keeps it and tries again, `proxy` puts the sender off",
      example: "queue",
    }),
    port: port(25, "TCP port of the servers mail is delivered to"),
    ipv6: z.boolean().default(true).meta({ description: "Whether to connect to IPv6 addresses", example: true }),
    allow_private: z.boolean().default(false).meta({
      description:
        "Whether mail may be delivered to loopback, private and link-local addresses; smart hosts may always be there",
      example: false,
    }),
    per_destination: count(5, 1, 1000, "Connections at once to one domain"),
    per_minute: count(0, 0, 1_000_000, "Messages in a minute to one domain; 0: no limit"),
    retry_minutes: z
      .array(z.number().min(0.01).max(1440))
      .min(1)
      .max(50)
      .default([1, 5, 15, 60, 120, 240])
      .meta({
        description: "Minutes to wait after each attempt; the last goes on until the days are over",
        example: [1, 5, 15, 60],
      }),
    days: count(5, 1, 30, "Days for which a message is tried"),
    dane: z.boolean().default(true).meta({
      description: "Whether TLSA records are heeded, where `dns.validating` says that the resolver checks DNSSEC",
      example: true,
    }),
    mta_sts: z
      .boolean()
      .default(true)
      .meta({ description: "Whether the MTA-STS policies of other domains are heeded", example: true }),
  }),
  authentication: group("What becomes of mail by who stands behind it", {
    enabled: z
      .boolean()
      .default(true)
      .meta({ description: "Whether SPF, DKIM, DMARC and ARC are looked at", example: true }),
    trusted: ranges(
      ["127.0.0.1", "::1"],
      "Addresses and ranges whose mail is judged and never refused for it",
      "10.0.0.0/8",
    ),
    require: z
      .enum(["spf-or-dkim", "nothing"])
      .default("spf-or-dkim")
      .meta({ description: "What a message must pass to be taken", example: "spf-or-dkim" }),
    spf_fail: z
      .enum(["accept", "quarantine", "reject"])
      .default("accept")
      .meta({ description: "What an SPF fail means where DKIM holds", example: "accept" }),
    dmarc_reject: z
      .enum(["accept", "quarantine", "reject"])
      .default("reject")
      .meta({ description: "What a DMARC fail means where the domain asks to reject", example: "reject" }),
    dmarc_quarantine: z
      .enum(["accept", "quarantine", "reject"])
      .default("quarantine")
      .meta({ description: "The same where it asks for quarantine", example: "quarantine" }),
    trusted_sealers: z
      .array(z.string().min(1))
      .default([])
      .meta({ description: "Domains whose ARC seal outweighs a DMARC fail", example: ["googlegroups.com"] }),
  }),
  email: group("Email Routing: what the records of routed domains name", {
    mx: z
      .array(z.string().min(1))
      .min(1)
      .max(10)
      .default(["route1.reelpost.internal", "route2.reelpost.internal", "route3.reelpost.internal"])
      .meta({
        description: "Hosts where mail of routed domains arrives, the preferred one first: this server's own names",
        example: ["mx1.example.com", "mx2.example.com"],
      }),
    spf_include: z.string().min(1).default("_spf.reelpost.internal").meta({
      description: "Name of the SPF record that lists the addresses mail leaves from",
      example: "_spf.example.com",
    }),
    dkim_selector: z
      .string()
      .min(1)
      .max(60)
      .default("reelpost")
      .meta({ description: "Selector of the DKIM keys of routed domains", example: "reelpost" }),
    mta_sts: z.enum(["off", "testing", "enforce"]).default("testing").meta({
      description:
        "The MTA-STS policy of routed domains, published where HTTPS is offered (`tls.https`, or an https address in `http.public_url`): `enforce` asks senders for a certificate of our MX hosts that they can check",
      example: "enforce",
    }),
    dkim_days: count(
      180,
      0,
      3650,
      "Days after which DKIM keys are replaced, in zones whose records get into the DNS by themselves; 0: only when somebody asks",
    ),
    from: z.string().min(3).default("noreply@reelpost.internal").meta({
      description: "Sender of the mail that asks a destination address to agree",
      example: "Example Mail <noreply@example.com>",
    }),
    forward_domain: z.string().min(1).default("forward.reelpost.internal").meta({
      description:
        "Domain of the envelope senders of forwarded mail (SRS), which signs it too: its MX leads here, its SPF record names the addresses mail leaves from",
      example: "forward.example.com",
    }),
    sending_label: z
      .string()
      .regex(/^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$/)
      .default("rp-bounce")
      .meta({
        description:
          "First label of the names where bounces of sent mail arrive, and selector of the keys sent mail is signed with",
        example: "rp-bounce",
      }),
    dmarc: z.string().default("v=DMARC1; p=quarantine;").meta({
      description: "The DMARC record that a sending domain without one is given",
      example: "v=DMARC1; p=quarantine;",
    }),
    extended_rules: z.boolean().default(false).meta({
      description:
        "Accept routing rules with glob and regex matchers and with several destination addresses, which the hosted service rejects",
      example: true,
    }),
    log_days: count(31, 1, 3650, "Days for which the log of messages is kept"),
    daily_limit: count(
      0,
      0,
      1_000_000_000,
      "Messages an account may send in a day to addresses that are not verified; 0: no limit",
    ),
    minute_limit: count(0, 0, 1_000_000, "Messages an account may send in a minute by one process; 0: no limit"),
    postmaster: z.string().default("").meta({
      description:
        "Where mail for postmaster and abuse goes that no rule takes; empty: the account's first verified address for postmaster, and nowhere for abuse",
      example: "ops@example.com",
    }),
  }),
  dns: group("The zones of accounts, and what is asked of DNS", {
    name_servers: z
      .array(z.string().min(1))
      .min(1)
      .default(["ns1.reelpost.internal", "ns2.reelpost.internal"])
      .meta({
        description: "Hosts that serve the zones: what a registrar is told",
        example: ["ns1.example.com", "ns2.example.com"],
      }),
    host: host("Address to listen on, UDP and TCP"),
    port: port(1053, "Port; 0 takes a free one. Resolvers ask at 53"),
    resolvers: z
      .array(z.string().min(1))
      .default([])
      .meta({
        description: "Resolvers that are asked about other domains, `address` or `address:port`; empty: the system's",
        example: ["127.0.0.1"],
      }),
    validating: z.boolean().default(false).meta({
      description: "Whether these resolvers check DNSSEC and the way to them is safe, so that DANE may trust them",
      example: true,
    }),
    provider: z.enum(["embedded", "rfc2136", "powerdns", "manual"]).default("embedded").meta({
      description:
        "Who serves the zones: this server, another one that takes dynamic updates, PowerDNS, or somebody who enters records by hand",
      example: "embedded",
    }),
    provider_server: z.string().default("").meta({
      description: "`rfc2136`: `address:port` of the primary server. `powerdns`: the address of its API",
      example: "192.0.2.53:53",
    }),
    provider_key: z.string().default("").meta({
      description: "`rfc2136`: the TSIG key, `algorithm:name:secret`. `powerdns`: the API key",
      example: "hmac-sha256:reelpost:c2VjcmV0",
    }),
    manual_zones: z
      .array(z.string().min(1))
      .default([])
      .meta({ description: "Zones whose records are entered by hand whatever the provider", example: ["example.net"] }),
  }),
  stream: streamSettings,
  live: liveSettings,
  workers: group("Worker processes and what one of them may use", {
    domain: z.string().min(1).default("localhost").meta({
      description: "A worker is reached at `<worker>.<account's subdomain>.<this domain>`",
      example: "workers.example.com",
    }),
    by_path: z.boolean().default(true).meta({
      description:
        "Also serve workers of the first account at `/workers/<worker>/` on the API's host; browsers run those pages in a sandbox",
      example: false,
    }),
    script_mb: count(10, 1, 128, "Size of one upload, all modules together, in MiB"),
    cpu_ms: count(
      30_000,
      1,
      300_000,
      "CPU milliseconds per invocation; a worker's own limits.cpu_ms can only lower it",
    ),
    email_wall_ms: count(60_000, 1, 900_000, "Milliseconds an email handler may take, waiting included"),
    scheduled_wall_ms: count(900_000, 1, 3_600_000, "Milliseconds a scheduled handler may take, waiting included"),
    heap_mb: count(128, 16, 4096, "JavaScript heap of a process, in MiB"),
    rss_mb: count(512, 64, 16_384, "Resident memory of a process, in MiB: heap, buffers and messages in flight"),
    concurrency: count(64, 1, 1000, "Messages one worker handles at once; more wait"),
    max_processes: count(200, 1, 10_000, "Worker processes up at once; the one that rested longest makes room"),
    idle_ms: count(300_000, 100, 86_400_000, "Milliseconds without work after which a process ends"),
    uid_range: z
      .string()
      .default("1879048192-1879113727")
      .refine((text) => text === "" || parseIdRange(text) !== undefined, "is not a range of user ids, `first-last`")
      .meta({
        description:
          "User ids for worker processes, one per account, if the server is root or has CAP_SETUID. Empty: all run as `nobody`. Ranges of servers on the same machine must not overlap",
        example: "70000-79999",
      }),
  }),
  network: group("Network of this machine", {
    own_addresses: ranges(
      [],
      "Public addresses that reach this machine but are on none of its interfaces (1:1 NAT, a load balancer). Like its interface addresses, they are blocked for workers, webhooks, live outputs and fetches of videos and images",
      "203.0.113.7",
    ),
  }),
  egress: group("Where workers may connect to", {
    allow_loopback: z.boolean().default(false).meta({
      description: "This machine's own addresses: 127.0.0.0/8, ::1 and those of its interfaces",
      example: false,
    }),
    allow_private: z.boolean().default(false).meta({
      description: "Private, link-local and other addresses that are no place on the internet",
      example: false,
    }),
    deny_ports: z
      .array(z.number().int().min(0).max(65_535))
      .default([25])
      .meta({ description: "TCP ports that are closed whatever the address", example: [25] }),
    allow: ranges(
      [],
      "Addresses and ranges that are allowed before any other rule applies; the mail, DNS and live ports of this machine stay blocked",
      "10.1.2.0/24",
    ),
  }),
});

export type Settings = z.output<typeof settingsSchema>;
export type SettingsInput = z.input<typeof settingsSchema>;
