import type { Problem } from "../../kernel/config/index.ts";
import type { EgressPolicy } from "../runtime/egress/policy.ts";
import type { RuntimeLimits } from "../runtime/watchdog.ts";
import type { Binding, ScriptLimits } from "../scripts/script.ts";
import type { ObjectMigration } from "../objects/port.ts";
import type { BuildCommand } from "./bundle/build-command.ts";
import type { ProjectAssets } from "./config/assets.ts";
import type { MissingBinding } from "./config/missing-bindings.ts";
import type { QueueConsumerConfig } from "./config/queue-consumers.ts";
import type { ProjectRoutes } from "./config/routes.ts";
import type { ModuleRule } from "./config/rules.ts";
import type { UnnamedResource } from "./config/unnamed-resources.ts";

/** A worker's configuration file, read and validated, for one environment. Every path is absolute. */
export interface Project {
  /** The file the configuration was read from. */
  configFile: string;
  /** The folder of that file; relative paths in it are resolved against it. */
  root: string;
  /**
   * The folder of the user's own configuration file, with the secrets and the data of `reelpost dev`. It differs from
   * `root` if a build tool generated `configFile`, in a folder that the next build may delete.
   */
  userRoot: string;
  /** The requested `env.<name>`. */
  environment: string | undefined;
  name: string;
  /** "" for a worker that has only assets. */
  main: string;
  assets: ProjectAssets | undefined;
  /** YYYY-MM-DD. The runtime falls back to the newest date that it supports. */
  compatibilityDate: string;
  compatibilityFlags: string[];
  /**
   * All bindings: send_email, KV, R2, D1, queues, vars, secrets. Each name appears once. For development, ids are local
   * (`preview_id` before `id`), and secrets are included; for a deploy, ids are those of the server, and secrets are
   * omitted, because the server keeps its own.
   */
  bindings: Binding[];
  /** Storage bindings without a configured id: their ids in `bindings` exist only in development. */
  unnamedResources: UnnamedResource[];
  /** From `queues.consumers` in the configuration. */
  queueConsumers: QueueConsumerConfig[];
  /** Names of the workers in `tail_consumers`. */
  tailConsumers: string[];
  /** From `migrations`: changes to the worker's Durable Object classes, oldest first. */
  objectMigrations: TaggedObjectMigration[];
  /** Bindings to products that are not supported: undefined in env. */
  missingBindings: MissingBinding[];
  /** `secrets.required`: declared, with or without a value in .dev.vars. */
  requiredSecrets: string[];
  /** Names with a value in .dev.vars. */
  localSecrets: string[];
  limits: ScriptLimits | undefined;
  build: BuildSettings;
  deploy: DeploySettings;
  /** `dev.port` and `dev.ip`. */
  dev: { port?: number; ip?: string };
  /** Address patterns for which the worker receives mail (`addresses`). */
  addresses: string[];
  /** The top-level block `reelpost`: settings specific to this program. */
  reelpost: ReelpostSettings;
  warnings: Problem[];
  /** A change to any of these files requires rereading the project. They need not exist. */
  files: string[];
}

export interface TaggedObjectMigration extends ObjectMigration {
  tag: string;
}

export interface BuildSettings {
  /** Runs before the bundler. */
  command: BuildCommand | undefined;
  rules: ModuleRule[];
  define: Record<string, string>;
  alias: Record<string, string>;
  minify: boolean;
  /** True to upload the files unchanged, without esbuild. */
  noBundle: boolean;
  tsconfig: string | undefined;
  jsxFactory: string | undefined;
  jsxFragment: string | undefined;
}

/**
 * Settings used only by a server. A setting that is not in the file is undefined, so the server keeps its own value.
 */
export interface DeploySettings {
  accountId: string | undefined;
  routes: ProjectRoutes | undefined;
  /** True if the worker is reachable at its own host name. */
  workersDev: boolean | undefined;
  previewUrls: boolean | undefined;
  /** True to keep variables that were set on the server. */
  keepVars: boolean;
  crons: string[] | undefined;
  observability: Record<string, unknown> | undefined;
  logpush: boolean | undefined;
}

export interface ReelpostSettings {
  /**
   * Addresses that count as verified destinations; undefined: every address (mail from a developer's machine is not
   * delivered).
   */
  verifiedAddresses: string[] | undefined;
  smtpPort: number | undefined;
  /** Destinations allowed for fetch() and connect(); omitted fields keep the command's default. */
  egress: Partial<EgressPolicy>;
  limits: Partial<RuntimeLimits>;
}
