import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Page, PageRequest } from "../../kernel/index.ts";
import type { WorkerCalls } from "../bindings/services/port.ts";
import type {
  EmailOutcome,
  InboundMail,
  InvocationOutcome,
  MailActions,
  QueueBatch,
  QueueOutcome,
  TailBatch,
} from "../runtime/port.ts";
import type { AssetsConfig } from "../assets/config.ts";
import type { DurableObjectMigrations } from "../objects/port.ts";
import type { Binding, WorkerModule } from "./script.ts";

/**
 * The workers of accounts: uploads, deployed versions and bindings. Every method resolves once the change is on disk
 * and, for changes to a live worker, once this machine responds with the new version. Throws UserErrors of
 * `workerErrors`.
 */
export interface Scripts {
  /** Ordered by name. */
  list(account: string, page?: PageRequest): Promise<Page<Script>>;
  get(account: string, name: string): Promise<Script | undefined>;
  /** Looks up a script by the stable id (`tag`), which Email Routing rules store. */
  byId(account: string, id: string): Promise<Script | undefined>;
  /**
   * Uploads a new version and deploys it at 100 %. Creates the worker if needed. A version that does not start changes
   * nothing (scriptRefused).
   */
  upload(
    account: string,
    name: string,
    upload: Upload,
    by: Uploader,
  ): Promise<{ script: Script; version: Version; deployment: Deployment }>;
  /** Creates a worker without a version, as `POST workers/workers` and `secret put` for a nonexistent worker do. */
  create(account: string, name: string, by: Author, settings?: Partial<ScriptSettings>): Promise<Script>;
  delete(account: string, name: string): Promise<void>;
  /**
   * Renames a worker and changes its settings. All references to it change in the same transaction: bindings, tail
   * consumers, routes, custom domains, queue consumers, live logs and email rules. Versions, secrets, schedules and
   * Durable Objects belong to its id. Throws scriptMissing, nameTaken, badScriptName.
   */
  rename(account: string, name: string, to: string, settings?: Partial<ScriptSettings>): Promise<Script>;

  /** Uploads a version without deploying it. It is started once to check that it runs. */
  createVersion(account: string, name: string, upload: Upload, by: Uploader): Promise<Version>;
  /** Newest first. */
  versions(account: string, name: string, page: PageRequest): Promise<Page<Version>>;
  /** Resolves with undefined if the version does not exist or belongs to another script. */
  version(account: string, name: string, id: string): Promise<Version | undefined>;
  /**
   * Throws versionMissing, and versionLive while the newest deployment contains it. Older deployments that contain it
   * are deleted too.
   */
  deleteVersion(account: string, name: string, id: string): Promise<void>;
  /** Resolves with the modules of a version, including source maps; for the download and the content endpoints. */
  modules(version: Version): Promise<UploadedModule[]>;

  /** Newest first; the first one is live. */
  deployments(account: string, name: string, page?: PageRequest): Promise<Page<Deployment>>;
  deployment(account: string, name: string, id: string): Promise<Deployment | undefined>;
  /** Throws deploymentMissing, and deploymentLive for the newest one. */
  deleteDeployment(account: string, name: string, id: string): Promise<void>;
  /** Deploys versions of this script whose percentages add up to 100. */
  deploy(
    account: string,
    name: string,
    request: { versions: { versionId: string; percentage: number }[]; annotations?: Annotations },
    by: Author,
  ): Promise<Deployment>;

  /**
   * Secrets are part of a version: a change creates a new version from the newest one and, unless `deploy` is false,
   * deploys it. A null text deletes the secret. Throws versionNotDeployed if the newest version is not live, because
   * its code must not go live as a side effect.
   */
  changeSecrets(
    account: string,
    name: string,
    changes: Record<string, string | null>,
    by: Author,
    options?: { deploy?: boolean; annotations?: Annotations },
  ): Promise<Version>;
  /** Lists only the names of the secrets in the newest version, in order. */
  secrets(account: string, name: string): Promise<string[]>;

  /** Changes settings of a script that apply to all its versions. Fields that are not given remain unchanged. */
  changeSettings(account: string, name: string, change: Partial<ScriptSettings>): Promise<Script>;
  /** A change to bindings, compatibility date and the like creates a new version and deploys it immediately. */
  changeVersionSettings(
    account: string,
    name: string,
    change: Partial<
      Pick<Upload, "bindings" | "compatibilityDate" | "compatibilityFlags" | "limits" | "keepBindings" | "annotations">
    >,
    by: Uploader,
  ): Promise<Version>;

  /** Resolves with the account's label under the workers domain. Derived from the account's name on first use. */
  subdomain(account: string): Promise<string>;
  /** Throws subdomainTaken, badSubdomain. */
  changeSubdomain(account: string, label: string): Promise<string>;
  /** Releases the label: another account can use it, and scripts are no longer reachable under it. */
  deleteSubdomain(account: string): Promise<void>;
  /**
   * Resolves with the script identified by a host name or a path: `<script>.<label>`. Finds only scripts whose
   * subdomain is enabled.
   */
  bySubdomain(label: string, script: string): Promise<ScriptRef | undefined>;

  /** Replaces all cron expressions of the worker. Throws badCron. */
  changeSchedules(account: string, name: string, crons: string[]): Promise<Schedule[]>;
  schedules(account: string, name: string): Promise<Schedule[]>;
  /** Returns the names of the scripts whose live versions send to queues, by queue name. */
  queueProducers(account: string): Promise<Map<string, string[]>>;
}

export interface ScriptRef {
  account: string;
  script: string;
  /** Its id, if known: finds the worker even if it has been renamed. */
  id?: string;
}

/**
 * Runs deployed workers: picks the version by the percentages of the live deployment. Unknown workers are reported as
 * outcomes or statuses, as in WorkerRuntime.
 */
export interface LiveWorkers {
  email(ref: ScriptRef, mail: InboundMail, actions: MailActions): Promise<EmailOutcome>;
  fetch(ref: ScriptRef, request: IncomingMessage, response: ServerResponse): Promise<InvocationOutcome>;
  upgrade(ref: ScriptRef, request: IncomingMessage, socket: Duplex, head: Buffer): void;
  scheduled(ref: ScriptRef, event: { cron: string; scheduledTime: Date }): Promise<InvocationOutcome>;
  queue(ref: ScriptRef, batch: QueueBatch): Promise<QueueOutcome>;
  tail(ref: ScriptRef, batch: TailBatch): Promise<InvocationOutcome>;
  /** Calls from service bindings of other workers. */
  readonly calls: WorkerCalls;
  close(): Promise<void>;
}

export interface Script extends ScriptSettings {
  /** 32 hex digits, stable over renames and versions: `id` and `tag` of the API. */
  id: string;
  account: string;
  name: string;
  createdAt: Date;
  modifiedAt: Date;
  /** The newest version; absent for a worker without versions. */
  latest?: Version;
  /** The live deployment, newest version first; absent if nothing has been deployed. */
  live?: Deployment;
}

export interface ScriptSettings {
  /** `enabled` of the subdomain: reachable at `<script>.<label>.<workers domain>`. */
  subdomainEnabled: boolean;
  previewsEnabled: boolean;
  tags: string[];
  logpush: boolean;
  /** As sent by the client: `{ enabled, head_sampling_rate?, logs? … }`. */
  observability: Record<string, unknown> | null;
  tailConsumers: { service: string; environment?: string }[];
  usageModel: string;
  placement: Record<string, unknown> | null;
  /** The tag of the latest Durable Object migration; absent before the first one. */
  migrationTag?: string;
}

/** The content of one upload. */
export interface Upload {
  format: "modules" | "service-worker";
  /** "" for a worker that has only assets; then `modules` is empty. */
  main: string;
  modules: UploadedModule[];
  /** Includes `inherit` bindings; unknown types have been rejected earlier. */
  bindings: (Binding | InheritedBinding)[];
  /** Types of bindings that are carried over from the newest version if the upload does not list them. */
  keepBindings: Binding["type"][];
  /** `bindings_inherit=strict`: inheriting a missing binding is an error. */
  inheritStrictly: boolean;
  /** YYYY-MM-DD. Default: the oldest that the runtime supports. */
  compatibilityDate?: string;
  compatibilityFlags: string[];
  limits?: { cpuMs?: number };
  annotations?: Annotations;
  settings?: Partial<ScriptSettings>;
  assets?: AssetSelection;
  /** Durable Object migrations. */
  migrations?: DurableObjectMigrations;
}

/**
 * The static assets of a new version. Without `token`, the files of the newest version are kept, and also their
 * configuration if `config` is omitted.
 */
interface AssetSelection {
  /** The completion token of an upload. */
  token?: string;
  config?: AssetsConfig;
}

export interface InheritedBinding {
  type: "inherit";
  name: string;
  oldName?: string;
  versionId?: string;
}

/** A module as uploaded: the runtime gets all of them except source maps. */
export type UploadedModule = (WorkerModule | { name: string; kind: "source-map"; content: string }) & {
  contentType: string;
};

/** `workers/message`, `workers/tag`, `workers/triggered_by`. */
export type Annotations = Record<string, string>;

export interface Author {
  /** 32 hex digits. */
  id: string;
  email: string;
  /** `api`, `wrangler`, `dash`, derived from the user agent. */
  source: string;
}

/** The author of a new version, with the permissions of the client that are checked for its content. */
export interface Uploader extends Author {
  /**
   * If false, the version may bind only those secrets of the Secrets Store that the newest version binds. Default true,
   * for callers without a token.
   */
  bindsStoredSecrets?: boolean;
}

export interface Version {
  /** UUID. */
  id: string;
  /** The id of the script: 32 hex digits. */
  scriptId: string;
  account: string;
  script: string;
  /** Increases from 1 within its script. */
  number: number;
  author: Author;
  createdAt: Date;
  /** SHA-256 in hex of everything that runs. */
  etag: string;
  format: Upload["format"];
  main: string;
  /** For secrets, the text is empty. */
  bindings: Binding[];
  handlers: string[];
  compatibilityDate: string;
  compatibilityFlags: string[];
  limits?: { cpuMs?: number };
  annotations: Annotations;
  startupMs: number;
  /** Total bytes of all modules. */
  size: number;
  hasAssets: boolean;
}

export interface Deployment {
  /** UUID. */
  id: string;
  scriptId: string;
  createdAt: Date;
  author: Author;
  annotations: Annotations;
  /** Percentages add up to 100. */
  versions: { versionId: string; percentage: number }[];
}

export interface Schedule {
  cron: string;
  createdAt: Date;
  modifiedAt: Date;
}

/** Resources that a binding may refer to. Checked before a version is stored. */
export interface BindingTargets {
  kvNamespace(account: string, id: string): Promise<boolean>;
  r2Bucket(account: string, name: string): Promise<boolean>;
  d1Database(account: string, id: string): Promise<boolean>;
  worker(account: string, name: string): Promise<boolean>;
  queue(account: string, name: string): Promise<boolean>;
  /** True if the Secrets Store contains a secret that workers may use. */
  storedSecret(account: string, store: string, name: string): Promise<boolean>;
}
