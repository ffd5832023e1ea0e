import { z } from "zod";
import { parseNetwork } from "../../../kernel/networks.ts";
import { HTML_HANDLING, NOT_FOUND_HANDLING } from "../../assets/config.ts";
import { routeEntry } from "./route-entry.ts";
import { RULE_TYPES } from "./rules.ts";
import {
  sendEmail,
  kvNamespace,
  r2Bucket,
  d1Database,
  rateLimit,
  unsafeBinding,
  service,
  tailConsumer,
  analyticsDataset,
  queues,
  durableObjects,
  objectMigrationsField,
} from "./binding-fields.ts";
import { bindingName, address, workerNameField, date, remote, ignoredField, arrayField } from "./field-types.ts";

const rule = z.strictObject({
  type: z.enum(RULE_TYPES),
  globs: z.array(z.string().min(1)).meta({ example: ["**/*.md"] }),
  fallthrough: z.boolean().optional(),
});

const assets = z.strictObject({
  // Optional, because a configuration from which a build tool generates another one may omit it.
  directory: z.string().min(1).optional().meta({ description: "a directory with the files", example: "./public" }),
  binding: bindingName.optional(),
  html_handling: z.enum(HTML_HANDLING).optional(),
  not_found_handling: z.enum(NOT_FOUND_HANDLING).optional(),
  run_worker_first: z
    .union([z.boolean(), z.array(z.string())])
    .optional()
    .meta({ description: "true, false or a list of patterns", example: ["/api/*"] }),
  base_path: z.string().optional().meta({ example: "/docs/" }),
});

/** Fields that a named environment inherits from the top level if unset. */
export const inherited = {
  name: workerNameField.optional(),
  main: z.string().min(1).optional().meta({ description: "the entry file", example: "src/index.ts" }),
  compatibility_date: date.optional(),
  compatibility_flags: z
    .array(z.string())
    .optional()
    .meta({ example: ["nodejs_compat"] }),
  limits: z
    .strictObject({
      cpu_ms: z.number().int().min(1).max(300_000).optional().meta({ example: 30_000 }),
      subrequests: ignoredField,
    })
    .optional()
    .meta({ example: { cpu_ms: 30_000 } }),
  rules: arrayField(rule, { type: "Text", globs: ["**/*.md"] }),
  minify: z.boolean().optional(),
  no_bundle: z.boolean().optional(),
  tsconfig: z.string().min(1).optional().meta({ example: "tsconfig.json" }),
  jsx_factory: z.string().min(1).optional(),
  jsx_fragment: z.string().min(1).optional(),
  observability: z
    .record(z.string(), z.json())
    .optional()
    .meta({ example: { enabled: true } }),
  addresses: z
    .array(
      z
        .string()
        .regex(/^[^\s@<>,;"]+@[^\s@<>,;"]+$/)
        .meta({ description: "an address or a pattern of addresses", example: "*@example.com" }),
    )
    .optional()
    .meta({ example: ["hi@example.com", "*@example.com"] }),
  account_id: z.string().min(1).optional().meta({ example: "0123456789abcdef0123456789abcdef" }),
  workers_dev: z.boolean().optional(),
  preview_urls: z.boolean().optional(),
  route: routeEntry.optional(),
  routes: arrayField(routeEntry, "example.com/*"),
  placement: ignoredField,
  logpush: z.boolean().optional(),
  upload_source_maps: ignoredField,
  keep_names: ignoredField,
  preserve_file_names: ignoredField,
  base_dir: ignoredField,
  find_additional_modules: ignoredField,
  compliance_region: ignoredField,
  first_party_worker: ignoredField,
  usage_model: ignoredField,
  python_modules: ignoredField,
  migrations: objectMigrationsField,
  assets: assets.optional().meta({ example: { directory: "./public" } }),
  triggers: z
    .looseObject({
      crons: z
        .array(z.string().min(1))
        .nullish()
        .meta({ example: ["*/5 * * * *"] }),
    })
    .optional()
    .meta({ example: { crons: ["*/5 * * * *"] } }),
  build: z
    .looseObject({
      command: z.string().optional(),
      cwd: z.string().optional(),
      watch_dir: z.union([z.string(), z.array(z.string())]).optional(),
    })
    .optional()
    .meta({ example: { command: "npm run build" } }),
  streaming_tail_consumers: ignoredField,
  cache: ignoredField,
  exports: ignoredField,
};

/** Fields that every environment sets separately; they are not inherited. */
export const perEnvironment = {
  vars: z
    .record(z.string().min(1), z.json())
    .optional()
    .meta({ example: { API_URL: "https://example.com" } }),
  send_email: arrayField(sendEmail, { name: "SEB" }),
  kv_namespaces: arrayField(kvNamespace, { binding: "KV", id: "my-kv" }),
  r2_buckets: arrayField(r2Bucket, { binding: "BUCKET", bucket_name: "my-bucket" }),
  d1_databases: arrayField(d1Database, { binding: "DB", database_id: "my-db" }),
  queues: queues
    .optional()
    .meta({ example: { producers: [{ binding: "QUEUE", queue: "my-queue" }], consumers: [{ queue: "my-queue" }] } }),
  stream: z
    .strictObject({ binding: bindingName, remote })
    .nullish()
    .meta({ example: { binding: "STREAM" } }),
  tail_consumers: arrayField(tailConsumer, { service: "my-tail-worker" }),
  services: arrayField(service, { binding: "API", service: "api" }),
  analytics_engine_datasets: arrayField(analyticsDataset, { binding: "EVENTS", dataset: "events" }),
  secrets_store_secrets: arrayField(
    z.strictObject({ binding: bindingName, store_id: z.string().min(1), secret_name: z.string().min(1), remote }),
    { binding: "API_KEY", store_id: "0123456789abcdef0123456789abcdef", secret_name: "api-key" },
  ),
  ratelimits: arrayField(rateLimit, { name: "LIMITER", namespace_id: "1001", simple: { limit: 100, period: 60 } }),
  unsafe: z
    .looseObject({ bindings: z.array(unsafeBinding).optional() })
    .optional()
    .meta({
      example: {
        bindings: [{ name: "LIMITER", type: "ratelimit", namespace_id: "1001", simple: { limit: 100, period: 60 } }],
      },
    }),
  ai: z
    .strictObject({ binding: bindingName, remote, staging: ignoredField })
    .nullish()
    .meta({ example: { binding: "AI" } }),
  durable_objects: durableObjects,
  version_metadata: z
    .strictObject({ binding: bindingName })
    .nullish()
    .meta({ example: { binding: "VERSION" } }),
  define: z
    .record(z.string().min(1), z.string())
    .optional()
    .meta({ example: { "process.env.MODE": '"test"' } }),
  secrets: z
    .strictObject({ required: z.array(bindingName).optional() })
    .optional()
    .meta({ example: { required: ["API_KEY"] } }),
  cloudchamber: ignoredField,
};

/** Bindings of the hosted platform that are not available here: field name to product name. Using one is an error. */
export const UNSUPPORTED_BINDINGS: Record<string, string> = {
  ai_search: "AI Search",
  browser: "Browser Rendering",
  containers: "Containers",
  data_blobs: "data blobs",
  dispatch_namespaces: "dispatch namespaces",
  hyperdrive: "Hyperdrive",
  images: "Images",
  logfwdr: "log forwarding",
  media: "Media Transformations",
  mtls_certificates: "mTLS certificates",
  pages_build_output_dir: "Pages projects",
  pipelines: "Pipelines",
  site: "Workers Sites",
  text_blobs: "text blobs",
  unsafe_hello_world: "the Hello World binding",
  vectorize: "Vectorize",
  vpc_services: "VPC services",
  wasm_modules: "Wasm module bindings",
  worker_loaders: "Worker Loaders",
  workflows: "Workflows",
};

const unsupportedFields = Object.fromEntries(
  Object.keys(UNSUPPORTED_BINDINGS).map((name) => [name, z.unknown().optional()]),
);

const addressRange = z
  .string()
  .refine((text) => parseNetwork(text) !== undefined, "is neither an IP address nor a range")
  .meta({ example: "10.1.2.0/24" });

const port = z.number().int().min(0).max(65_535);

/** Fields specific to this program; wrangler only warns about them. */
const reelpostFields = z.strictObject({
  verified_addresses: z
    .array(address)
    .optional()
    .meta({ description: "destinations that forward() and send() may reach", example: ["someone@example.com"] }),
  missing_bindings: z
    .enum(["error", "undefined"])
    .optional()
    .meta({ description: 'whether a deploy with unsupported bindings fails ("error") or leaves them undefined' }),
  smtp_port: port.optional().meta({ description: "port of the SMTP listener", example: 2525 }),
  egress: z
    .strictObject({
      allow_loopback: z.boolean().optional(),
      allow_private: z.boolean().optional(),
      deny_ports: z
        .array(port)
        .optional()
        .meta({ example: [25] }),
      allow: z
        .array(addressRange)
        .optional()
        .meta({ example: ["10.1.2.0/24"] }),
    })
    .optional()
    .meta({ description: "what fetch() and connect() may reach", example: { allow_private: true } }),
  limits: z
    .strictObject({
      email_wall_ms: z.number().int().min(1).optional().meta({ example: 60_000 }),
      heap_mb: z.number().int().min(16).optional().meta({ example: 128 }),
      rss_mb: z.number().int().min(64).optional().meta({ example: 512 }),
    })
    .optional()
    .meta({ example: { email_wall_ms: 60_000 } }),
});

const topLevelFields = {
  $schema: z.string().optional(),
  alias: z
    .record(z.string().min(1), z.string())
    .optional()
    .meta({ example: { punycode: "./src/punycode.ts" } }),
  dev: z
    .strictObject({
      port: port.optional().meta({ example: 8787 }),
      ip: z.string().optional().meta({ example: "127.0.0.1" }),
      inspector_port: ignoredField,
      inspector_ip: ignoredField,
      local_protocol: ignoredField,
      upstream_protocol: ignoredField,
      host: ignoredField,
      enable_containers: ignoredField,
      container_engine: ignoredField,
      generate_types: ignoredField,
    })
    .optional()
    .meta({ example: { port: 8787 } }),
  keep_vars: z.boolean().optional(),
  // Written by build tools into the configuration that they generate.
  configPath: ignoredField,
  userConfigPath: ignoredField,
  topLevelName: ignoredField,
  definedEnvironments: ignoredField,
  targetEnvironment: ignoredField,
  legacy_env: ignoredField,
  send_metrics: ignoredField,
  reelpost: reelpostFields.optional().meta({ example: { verified_addresses: ["someone@example.com"] } }),
};

const environmentFields = z.strictObject({ ...inherited, ...perEnvironment, ...unsupportedFields });

/**
 * The fields of a worker's configuration file, named as in wrangler. The platform's documentation explains them; this
 * is their schema.
 */
export const configurationFields = z.strictObject({
  ...inherited,
  ...perEnvironment,
  ...topLevelFields,
  env: z
    .record(z.string().min(1), environmentFields)
    .optional()
    .meta({ example: { staging: { vars: {} } } }),
  ...unsupportedFields,
});

export type EnvironmentFields = z.output<typeof environmentFields>;
export type ConfigurationFields = z.output<typeof configurationFields>;
