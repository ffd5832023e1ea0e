import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Page, PageRequest } from "../../kernel/index.ts";
import type { EmailOutcome, InboundMail, MailActions, Outcome } from "../runtime/port.ts";
import type { Binding, WorkerModule } from "./script.ts";

/**
 * The workers of accounts: what was uploaded, which version is live, what it is bound to. Everything resolves when it is on the disk and,
 * for what changes a live worker, when this machine answers with the new version. Refusals are UserErrors of `workerErrors`.
 */
export interface Scripts {
  /** In the order of their names. */
  list(account: string, page?: PageRequest): Promise<Page<Script>>;
  get(account: string, name: string): Promise<Script | undefined>;
  /** By the stable id (`tag`): what Email Routing rules remember. */
  byId(account: string, id: string): Promise<Script | undefined>;
  /** A new version, deployed at 100 %. Creates the worker when there is none. A version that does not start changes nothing (scriptRefused). */
  upload(
    account: string,
    name: string,
    upload: Upload,
    by: Author,
  ): Promise<{ script: Script; version: Version; deployment: Deployment }>;
  /** The worker as a record without a version, as `POST workers/workers` and `secret put` on an absent worker make one. */
  create(account: string, name: string, by: Author): Promise<Script>;
  delete(account: string, name: string): Promise<void>;

  /** A version that is not live yet. It is started once to see that it runs. */
  createVersion(account: string, name: string, upload: Upload, by: Author): Promise<Version>;
  /** Newest first. */
  versions(account: string, name: string, page: PageRequest): Promise<Page<Version>>;
  /** Undefined too for a version of another script. */
  version(account: string, name: string, id: string): Promise<Version | undefined>;
  /** Throws versionMissing, and versionLive while the newest deployment has it. Older deployments that have it go too. */
  deleteVersion(account: string, name: string, id: string): Promise<void>;
  /** The modules of a version, source maps included; for the download and the content endpoints. */
  modules(version: Version): Promise<UploadedModule[]>;

  /** Newest first; the first one is live. */
  deployments(account: string, name: string, page?: PageRequest): Promise<Page<Deployment>>;
  deployment(account: string, name: string, id: string): Promise<Deployment | undefined>;
  /** Throws deploymentMissing, and deploymentLive for the newest one. */
  deleteDeployment(account: string, name: string, id: string): Promise<void>;
  /** Versions of this script whose percentages add up to 100. */
  deploy(
    account: string,
    name: string,
    request: { versions: { versionId: string; percentage: number }[]; annotations?: Annotations },
    by: Author,
  ): Promise<Deployment>;

  /** A secret is part of a version: changing some makes a new version of the newest one and, when `deploy` is not false, deploys it. A null text deletes. Throws versionNotDeployed when the newest one is not what is live: its code must not go live on the way. */
  changeSecrets(
    account: string,
    name: string,
    changes: Record<string, string | null>,
    by: Author,
    options?: { deploy?: boolean; annotations?: Annotations },
  ): Promise<Version>;
  /** Names only, of the newest version, in their order. */
  secrets(account: string, name: string): Promise<string[]>;

  /** What a script keeps over its versions. Only what is given changes. */
  changeSettings(account: string, name: string, change: Partial<ScriptSettings>): Promise<Script>;
  /** Bindings, compatibility date and the like make a new version, deployed at once. */
  changeVersionSettings(
    account: string,
    name: string,
    change: Partial<
      Pick<Upload, "bindings" | "compatibilityDate" | "compatibilityFlags" | "limits" | "keepBindings" | "annotations">
    >,
    by: Author,
  ): Promise<Version>;

  /** The account's own label below the workers domain. Made from the account's name at first use. */
  subdomain(account: string): Promise<string>;
  /** Throws subdomainTaken, badSubdomain. */
  changeSubdomain(account: string, label: string): Promise<string>;
  /** The script that a host name or a path names: `<script>.<label>`. Only scripts whose subdomain is enabled. */
  bySubdomain(label: string, script: string): Promise<ScriptRef | undefined>;

  /** Replaces all cron expressions of the worker. Throws badCron. */
  changeSchedules(account: string, name: string, crons: string[]): Promise<Schedule[]>;
  schedules(account: string, name: string): Promise<Schedule[]>;
}

export interface ScriptRef {
  account: string;
  script: string;
}

/** Runs what is deployed: picks the version by the percentages of the live deployment. Unknown workers are outcomes or statuses, as in WorkerRuntime. */
export interface LiveWorkers {
  email(ref: ScriptRef, mail: InboundMail, actions: MailActions): Promise<EmailOutcome>;
  fetch(ref: ScriptRef, request: IncomingMessage, response: ServerResponse): Promise<Outcome>;
  upgrade(ref: ScriptRef, request: IncomingMessage, socket: Duplex, head: Buffer): void;
  scheduled(ref: ScriptRef, event: { cron: string; scheduledTime: Date }): Promise<Outcome>;
  close(): Promise<void>;
}

export interface Script extends ScriptSettings {
  /** 32 hex digits, stable over renames and versions: `id` and `tag` of the API. */
  id: string;
  account: string;
  name: string;
  createdAt: Date;
  modifiedAt: Date;
  /** Of the newest version; absent for a worker that has none yet. */
  latest?: Version;
  /** What is live, newest first; absent when nothing was deployed. */
  live?: Deployment;
}

export interface ScriptSettings {
  /** `enabled` of the subdomain: reachable by `<script>.<label>.<workers domain>`. */
  subdomainEnabled: boolean;
  previewsEnabled: boolean;
  tags: string[];
  logpush: boolean;
  /** As given: `{ enabled, head_sampling_rate?, logs? … }`. */
  observability: Record<string, unknown> | null;
  tailConsumers: { service: string; environment?: string }[];
  usageModel: string;
  placement: Record<string, unknown> | null;
}

/** What one upload brings. */
export interface Upload {
  format: "modules" | "service-worker";
  main: string;
  modules: UploadedModule[];
  /** With `inherit` among them; unknown types never get this far. */
  bindings: (Binding | InheritedBinding)[];
  /** Types of bindings of the newest version that are carried over when the upload does not name them. */
  keepBindings: Binding["type"][];
  /** `bindings_inherit=strict`: an inherited binding that is not there is an error. */
  inheritStrictly: boolean;
  /** YYYY-MM-DD. Default: the oldest the runtime knows. */
  compatibilityDate?: string;
  compatibilityFlags: string[];
  limits?: { cpuMs?: number };
  annotations?: Annotations;
  settings?: Partial<ScriptSettings>;
}

export interface InheritedBinding {
  type: "inherit";
  name: string;
  oldName?: string;
  versionId?: string;
}

/** A module as it was uploaded: the runtime gets all but the source maps. */
export type UploadedModule = (WorkerModule | { name: string; kind: "source-map"; content: string }) & {
  contentType: string;
};

/** `workers/message`, `workers/tag`, `workers/triggered_by`. */
export type Annotations = Record<string, string>;

export interface Author {
  /** 32 hex digits. */
  id: string;
  email: string;
  /** `api`, `wrangler`, `dash`, as the user agent tells. */
  source: string;
}

export interface Version {
  /** UUID. */
  id: string;
  /** 32 hex digits of the script. */
  scriptId: string;
  account: string;
  script: string;
  /** Counts up from 1 in its script. */
  number: number;
  author: Author;
  createdAt: Date;
  /** SHA-256 over all that runs, in hex. */
  etag: string;
  format: Upload["format"];
  main: string;
  /** Secrets have an empty text. */
  bindings: Binding[];
  handlers: string[];
  compatibilityDate: string;
  compatibilityFlags: string[];
  limits?: { cpuMs?: number };
  annotations: Annotations;
  startupMs: number;
  /** Octets of all modules. */
  size: number;
}

export interface Deployment {
  /** UUID. */
  id: string;
  scriptId: string;
  createdAt: Date;
  author: Author;
  annotations: Annotations;
  /** Adds up to 100. */
  versions: { versionId: string; percentage: number }[];
}

export interface Schedule {
  cron: string;
  createdAt: Date;
  modifiedAt: Date;
}

/** What a binding may name. Asked before a version is kept. */
export interface BindingTargets {
  kvNamespace(account: string, id: string): Promise<boolean>;
  r2Bucket(account: string, name: string): Promise<boolean>;
  d1Database(account: string, id: string): Promise<boolean>;
}
