import type { Problem } from "../../kernel/config/index.ts";
import type { EgressPolicy } from "../runtime/egress/policy.ts";
import type { RuntimeLimits } from "../runtime/watchdog.ts";
import type { Binding, ScriptLimits } from "../scripts/script.ts";
import type { ModuleRule } from "./config/rules.ts";

/** A worker's configuration file, read and checked, for one environment. Every path is absolute. */
export interface Project {
  /** The file the configuration was read from. */
  configFile: string;
  /** The folder of that file: what relative paths in it mean. */
  root: string;
  /** The `env.<name>` that was asked for. */
  environment: string | undefined;
  name: string;
  main: string;
  /** YYYY-MM-DD, never newer than the runtime supports. */
  compatibilityDate: string;
  compatibilityFlags: string[];
  /**
   * send_email, KV, R2, D1, vars, secrets. A name appears once. Read for development, ids are the local ones (`preview_id` before `id`); read for
   * a deploy, they are those of the server, and secrets are not among them: it keeps its own.
   */
  bindings: Binding[];
  /** `secrets.required`: declared, whether or not .dev.vars has a value for them. */
  requiredSecrets: string[];
  /** Names that .dev.vars has values for. */
  localSecrets: string[];
  limits: ScriptLimits | undefined;
  build: BuildSettings;
  deploy: DeploySettings;
  /** `dev.port` and `dev.ip`. */
  dev: { port?: number; ip?: string };
  /** Address patterns the worker asks to receive mail for (`addresses`). */
  addresses: string[];
  /** The top-level block `reelpost`: what only this program knows. */
  reelpost: ReelpostSettings;
  warnings: Problem[];
  /** Files whose change means: read the project again. They need not exist. */
  files: string[];
}

export interface BuildSettings {
  rules: ModuleRule[];
  define: Record<string, string>;
  alias: Record<string, string>;
  minify: boolean;
  /** Upload the files as they are, without esbuild. */
  noBundle: boolean;
  tsconfig: string | undefined;
  jsxFactory: string | undefined;
  jsxFragment: string | undefined;
}

/** What only a server has a use for. Undefined: the file does not say, and the server keeps what it has. */
export interface DeploySettings {
  accountId: string | undefined;
  /** Reachable by an address of its own. */
  workersDev: boolean | undefined;
  previewUrls: boolean | undefined;
  /** Variables that were set on the server stay. */
  keepVars: boolean;
  crons: string[] | undefined;
  observability: Record<string, unknown> | undefined;
  logpush: boolean | undefined;
}

export interface ReelpostSettings {
  /** Addresses that count as verified destinations; undefined: every address does (a developer's machine delivers nothing). */
  verifiedAddresses: string[] | undefined;
  smtpPort: number | undefined;
  /** What fetch() and connect() may reach; what is left out keeps the command's default. */
  egress: Partial<EgressPolicy>;
  limits: Partial<RuntimeLimits>;
}
