import { z } from "zod";
import { backupSettings } from "./backup-settings.ts";
import { clusterSettings } from "./cluster-settings.ts";
import { dashboardSettings } from "./dashboard-settings.ts";
import { DEFAULT_REQUESTS_PER_WINDOW } from "./failure-windows.ts";
import { count, group, host, port, ranges } from "./setting-types.ts";
import { databaseSettings, objectsSettings, secretsSettings } from "./store-settings.ts";
import { telemetrySettings } from "./telemetry-settings.ts";
import { liveSettings, streamSettings } from "./video-settings.ts";
import { r2Settings, workersSettings } from "./worker-settings.ts";

/**
 * All settings: names, bounds, descriptions and defaults. Validation, environment variables, the example file and the
 * documentation page are derived from this schema. Only settings that the program reads are listed.
 */
export const settingsSchema = z.strictObject({
  data_dir: z.string().min(1).default(".reelpost").meta({
    description:
      "Data directory. Relative paths are resolved from the folder of the settings file or, without a settings file, from the working directory",
    example: "/var/lib/reelpost",
  }),
  log: group("Program log: JSON lines on standard error", {
    level: z
      .enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"])
      .default("info")
      .meta({ description: "Minimum severity of log lines", example: "info" }),
  }),
  telemetry: telemetrySettings,
  database: databaseSettings,
  cluster: clusterSettings,
  objects: objectsSettings,
  secrets: secretsSettings,
  backup: backupSettings,
  http: group("HTTP server of the API and the workers", {
    host: host("Address to listen on"),
    port: port(8787, "TCP port; 0 selects a free one"),
    public_url: z.string().default("").meta({
      description:
        "Public URL of this server; empty: derived from each request. Routes and custom domains apply only if this or `api.hosts` is set, and never to the host of this URL",
      example: "https://api.example.com",
    }),
    trusted_proxies: ranges(
      [],
      "Trusted proxies: addresses and ranges whose X-Forwarded-For and X-Forwarded-Proto headers are used",
      "127.0.0.1",
    ),
    proxies: ranges(
      [],
      "Addresses and ranges of load balancers that send a PROXY header (version 1 or 2) at the start of each connection to the HTTP, HTTPS and dashboard ports",
      "10.0.0.5",
    ),
    connections: count(10_000, 10, 1_000_000, "Maximum number of concurrent connections, including WebSockets"),
    connections_per_address: count(
      1000,
      1,
      1_000_000,
      "Maximum number of concurrent connections from one IPv4 address or IPv6 /64; `trusted_proxies` are exempt",
    ),
    metrics_token: z.string().default("").meta({
      description: "Bearer token required for /metrics; empty: only this machine may read it",
      example: "",
    }),
  }),
  api: group("The v4 API", {
    token: z.string().default("").meta({
      description:
        "Value of the first API token, used at first start only; empty: generated and printed. At least 32 characters",
      example: "",
    }),
    account_name: z
      .string()
      .min(1)
      .max(100)
      .default("Main")
      .meta({ description: "Name of the account created at first start", example: "Example Ltd" }),
    email: z
      .string()
      .min(3)
      .default("admin@reelpost.internal")
      .meta({ description: "Email address of the user created at first start", example: "admin@example.com" }),
    hosts: z
      .array(z.string().min(1))
      .default([])
      .meta({
        description:
          "Host names of the API and of the server's own pages. Requests for other host names are rejected, except for workers, videos and uploads. Empty: any name; then routes and custom domains apply only if `http.public_url` is set",
        example: ["api.example.com"],
      }),
    rate_limit: count(
      DEFAULT_REQUESTS_PER_WINDOW,
      0,
      1_000_000_000,
      "Maximum number of requests per token in five minutes; 0: no limit",
    ),
  }),
  dashboard: dashboardSettings,
  audit: group("Audit log: changes made by the API and the dashboard", {
    days: count(365, 1, 36_500, "Days for which entries are kept. At most one million entries are kept"),
  }),
  smtp: group("SMTP server for inbound mail", {
    host: host("Address to listen on"),
    port: port(2525, "TCP port; 0 selects a free one. Mail from the internet arrives on port 25"),
    name: z.string().default("").meta({
      description:
        "Host name in the SMTP greeting, HELO, Received and Authentication-Results; empty: the machine's host name",
      example: "mx1.example.com",
    }),
    proxies: ranges([], "Addresses and ranges of load balancers that send a PROXY header (version 1 or 2)", "10.0.0.5"),
    connections: count(500, 1, 100_000, "Maximum number of concurrent connections"),
    connections_per_address: count(
      50,
      1,
      100_000,
      "Maximum number of concurrent connections from one IPv4 address or IPv6 /64",
    ),
    messages_per_minute: count(
      0,
      0,
      1_000_000,
      "Maximum number of messages per minute from one IPv4 address or IPv6 /64; 0: no limit",
    ),
    dnsbl: z
      .array(z.string().min(1))
      .default([])
      .meta({
        description: "DNS block lists to check clients against; listed clients are rejected",
        example: ["zen.spamhaus.org"],
      }),
    rspamd: z.string().default("").meta({
      description: "URL of an rspamd server to check each message, such as `http://127.0.0.1:11333`; empty: disabled",
      example: "http://127.0.0.1:11333",
    }),
  }),
  submission: group("Submission server with implicit TLS; the user is `api_token`, the password an API token", {
    enabled: z
      .boolean()
      .default(true)
      .meta({ description: "Enable the submission listener in processes with the role smtp", example: true }),
    host: host("Address to listen on"),
    port: port(2465, "TCP port; 0 selects a free one. Clients expect 465"),
  }),
  tls: group("Certificates for SMTP and HTTPS", {
    cert_file: z.string().default("").meta({
      description: "PEM file with the certificate and its chain, reloaded on change; empty: ACME, or self-signed",
      example: "/etc/reelpost/tls/fullchain.pem",
    }),
    key_file: z
      .string()
      .default("")
      .meta({ description: "PEM file with the private key", example: "/etc/reelpost/tls/privkey.pem" }),
    https: z.boolean().default(false).meta({ description: "Enable HTTPS", example: true }),
    https_port: port(8443, "TCP port of HTTPS on the address of `http`; 0 selects a free one"),
    acme_directory: z.string().default("").meta({
      description: "ACME directory URL (RFC 8555); empty: ACME is disabled",
      example: "https://acme-v02.api.letsencrypt.org/directory",
    }),
    acme_email: z
      .string()
      .default("")
      .meta({ description: "Contact addresses for the ACME server", example: "ops@example.com" }),
    acme_names: z
      .array(z.string().min(1))
      .default([])
      .meta({ description: "Host names that the certificate covers", example: ["mx1.example.com", "api.example.com"] }),
    acme_challenge: z.enum(["http-01", "dns-01"]).default("http-01").meta({
      description: "ACME challenge: http-01 requires port 80 of this server, dns-01 requires a zone on this server",
      example: "http-01",
    }),
    acme_ca_file: z.string().default("").meta({
      description: "PEM file with the CA certificates of a private ACME server",
      example: "",
    }),
  }),
  outbound: group("Outbound mail", {
    deliver: z.enum(["files", "mx", "smart_host"]).default("files").meta({
      description:
        "`files`: send nothing and write each message to a file. `mx`: deliver to the MX hosts of the recipient's domain. `smart_host`: relay through `outbound.smart_hosts`",
      example: "mx",
    }),
    smart_hosts: z
      .array(z.string().min(1))
      .default([])
      .meta({
        description:
          "Smart hosts in order of preference: `smtp://user:password@host:587`, or `smtps://` for implicit TLS. A password is sent only to a host with a verified certificate, unless the URL ends with `?tls=require`, which accepts any certificate",
        example: ["smtps://user:password@mail.example.com"],
      }),
    forward: z.enum(["queue", "proxy"]).default("queue").meta({
      description:
        "When the next hop defers (4xx) a forward: `queue` accepts it and retries from here, `proxy` returns the 4xx to the sender",
      example: "queue",
    }),
    port: port(25, "TCP port of receiving mail servers"),
    ipv6: z.boolean().default(true).meta({ description: "Deliver to IPv6 addresses", example: true }),
    allow_private: z.boolean().default(false).meta({
      description: "Allow delivery to loopback, private and link-local addresses; always allowed for smart hosts",
      example: false,
    }),
    per_destination: count(5, 1, 1000, "Maximum number of concurrent connections to one domain"),
    per_minute: count(0, 0, 1_000_000, "Maximum number of messages per minute to one domain; 0: no limit"),
    retry_minutes: z
      .array(z.number().min(0.01).max(1440))
      .min(1)
      .max(50)
      .default([1, 5, 15, 60, 120, 240])
      .meta({
        description: "Retry delays in minutes; the last one repeats until the message expires",
        example: [1, 5, 15, 60],
      }),
    days: count(5, 1, 30, "Days until a queued message expires"),
    dane: z.boolean().default(true).meta({
      description: "Enforce DANE (TLSA records), if `dns.validating` is set",
      example: true,
    }),
    mta_sts: z
      .boolean()
      .default(true)
      .meta({ description: "Enforce MTA-STS policies of other domains", example: true }),
    tls_reports: z.boolean().default(true).meta({
      description:
        "Send a daily TLS report (RFC 8460) to domains that request one. Requires `outbound.deliver` to be `mx`, and a public `email.forward_domain`, which is the domain of the sender; `email.postmaster` is the contact",
      example: true,
    }),
  }),
  authentication: group("Sender authentication", {
    enabled: z.boolean().default(true).meta({ description: "Evaluate SPF, DKIM, DMARC and ARC", example: true }),
    trusted: ranges(
      ["127.0.0.1", "::1"],
      "Addresses and ranges whose mail is checked (SPF, DKIM, DMARC) but never rejected because of the result",
      "10.0.0.0/8",
    ),
    require: z
      .enum(["spf-or-dkim", "nothing"])
      .default("spf-or-dkim")
      .meta({ description: "Authentication that a message must pass", example: "spf-or-dkim" }),
    spf_fail: z
      .enum(["accept", "quarantine", "reject"])
      .default("accept")
      .meta({ description: "Action if SPF fails and DKIM passes", example: "accept" }),
    dmarc_reject: z
      .enum(["accept", "quarantine", "reject"])
      .default("reject")
      .meta({ description: "Action if DMARC fails and the policy is reject", example: "reject" }),
    dmarc_quarantine: z
      .enum(["accept", "quarantine", "reject"])
      .default("quarantine")
      .meta({ description: "Action if DMARC fails and the policy is quarantine", example: "quarantine" }),
    trusted_sealers: z
      .array(z.string().min(1))
      .default([])
      .meta({ description: "Domains whose ARC seal overrides a DMARC failure", example: ["googlegroups.com"] }),
  }),
  email: group("Email Routing", {
    mx: z
      .array(z.string().min(1))
      .min(1)
      .max(10)
      .default(["route1.reelpost.internal", "route2.reelpost.internal", "route3.reelpost.internal"])
      .meta({
        description: "MX host names for routed domains, in order of preference; each must resolve to this server",
        example: ["mx1.example.com", "mx2.example.com"],
      }),
    spf_include: z.string().min(1).default("_spf.reelpost.internal").meta({
      description: "Name of the SPF record with the sending addresses",
      example: "_spf.example.com",
    }),
    dkim_selector: z
      .string()
      .min(1)
      .max(60)
      .default("reelpost")
      .meta({ description: "DKIM selector of routed domains", example: "reelpost" }),
    mta_sts: z.enum(["off", "testing", "enforce"]).default("testing").meta({
      description:
        "MTA-STS policy mode of routed domains, published if HTTPS is available (`tls.https`, or an https URL in `http.public_url`): `enforce` requires senders to verify the certificates of the MX hosts",
      example: "enforce",
    }),
    dkim_days: count(
      180,
      0,
      3650,
      "Days between automatic DKIM key rotations, in zones with automatically published records; 0: only on request",
    ),
    from: z.string().min(3).default("noreply@reelpost.internal").meta({
      description: "Sender of verification messages",
      example: "Example Mail <noreply@example.com>",
    }),
    forward_domain: z.string().min(1).default("forward.reelpost.internal").meta({
      description:
        "SRS domain for forwarded mail, and its DKIM signing domain. Its MX record must name this server, and its SPF record must include the sending addresses",
      example: "forward.example.com",
    }),
    sending_label: z
      .string()
      .regex(/^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$/)
      .default("rp-bounce")
      .meta({
        description: "First label of bounce domains, and DKIM selector of sending domains",
        example: "rp-bounce",
      }),
    dmarc: z.string().default("v=DMARC1; p=quarantine;").meta({
      description: "DMARC record created for sending domains without one",
      example: "v=DMARC1; p=quarantine;",
    }),
    extended_rules: z.boolean().default(false).meta({
      description:
        "Accept routing rules with glob and regex matchers and with several destination addresses, which the hosted service rejects",
      example: true,
    }),
    log_days: count(31, 1, 3650, "Days to keep the message log"),
    store_days: count(
      0,
      0,
      365,
      "Days to keep the content of received messages, so that it can be shown and replayed; 0: content is not kept",
    ),
    store_gb: count(
      10,
      1,
      100_000,
      "Maximum total size of stored messages in GiB; beyond it, the oldest are deleted, and new ones are not stored until there is room",
    ),
    daily_limit: count(
      0,
      0,
      1_000_000_000,
      "Maximum number of messages to unverified addresses per account per day; 0: no limit",
    ),
    minute_limit: count(0, 0, 1_000_000, "Maximum number of messages per account, minute and process; 0: no limit"),
    postmaster: z.string().default("").meta({
      description:
        "Recipient of postmaster and abuse mail without a rule; empty: the account's first verified address for postmaster, and none for abuse",
      example: "ops@example.com",
    }),
  }),
  inbox: group("Inbox of `reelpost dev`", {
    max_messages: count(5000, 1, 1_000_000, "Maximum number of stored messages; the oldest are deleted"),
    max_mb: count(512, 1, 1_000_000, "Maximum size of all stored messages, in MiB; the oldest are deleted"),
    release_server: z.string().default("").meta({
      description:
        "SMTP server to which messages are released: `smtp://user:password@host:587`; empty: each release names one",
      example: "smtp://localhost:1025",
    }),
  }),
  dns: group("DNS: zones and resolvers", {
    name_servers: z
      .array(z.string().min(1))
      .min(1)
      .default(["ns1.reelpost.internal", "ns2.reelpost.internal"])
      .meta({
        description: "Name servers of the zones, for the registrar",
        example: ["ns1.example.com", "ns2.example.com"],
      }),
    host: host("Address to listen on, UDP and TCP"),
    port: port(1053, "Port; 0 selects a free one. Resolvers query port 53"),
    resolvers: z
      .array(z.string().min(1))
      .default([])
      .meta({
        description: "Resolvers for other domains, `address` or `address:port`; empty: the system's",
        example: ["127.0.0.1"],
      }),
    validating: z.boolean().default(false).meta({
      description: "The resolvers validate DNSSEC over a secure path, so that DANE may trust them",
      example: true,
    }),
    provider: z.enum(["embedded", "rfc2136", "powerdns", "manual"]).default("embedded").meta({
      description:
        "DNS provider of the zones: this server, a server with dynamic updates (RFC 2136), PowerDNS, or manual",
      example: "embedded",
    }),
    provider_server: z.string().default("").meta({
      description: "`rfc2136`: `address:port` of the primary server. `powerdns`: URL of its API",
      example: "192.0.2.53:53",
    }),
    provider_key: z.string().default("").meta({
      description: "`rfc2136`: the TSIG key, `algorithm:name:secret`. `powerdns`: the API key",
      example: "hmac-sha256:reelpost:c2VjcmV0",
    }),
    manual_zones: z
      .array(z.string().min(1))
      .default([])
      .meta({
        description: "Zones whose records are entered manually, regardless of the provider",
        example: ["example.net"],
      }),
  }),
  stream: streamSettings,
  live: liveSettings,
  workers: workersSettings,
  r2: r2Settings,
  network: group("Network of this machine", {
    own_addresses: ranges(
      [],
      "Public addresses that reach this machine but are not assigned to its interfaces (1:1 NAT, a load balancer). Like its interface addresses, they are blocked for workers, webhooks, live outputs and fetches of videos and images",
      "203.0.113.7",
    ),
  }),
  egress: group("Outgoing connections of workers", {
    allow_loopback: z.boolean().default(false).meta({
      description: "Allow this machine's own addresses: 127.0.0.0/8, ::1 and those of its interfaces",
      example: false,
    }),
    allow_private: z.boolean().default(false).meta({
      description: "Allow private, link-local and other non-public addresses",
      example: false,
    }),
    deny_ports: z
      .array(z.number().int().min(0).max(65_535))
      .default([25])
      .meta({ description: "Blocked TCP ports", example: [25] }),
    allow: ranges(
      [],
      "Allowed addresses and ranges, which override the other egress settings; the mail, DNS and live ports of this machine stay blocked",
      "10.1.2.0/24",
    ),
  }),
});

export type Settings = z.output<typeof settingsSchema>;
export type SettingsInput = z.input<typeof settingsSchema>;
