import type {
  AssetUploads,
  CheckDomainAccess,
  LiveWorkers,
  ObjectNamespaces,
  Script,
  Scripts,
  Version,
  WorkerRouting,
} from "../../../workers/index.ts";
import { workerErrors } from "../../../workers/index.ts";
import type { Clock } from "../../../kernel/index.ts";
import { apiErrors } from "../../errors.ts";
import type { Call } from "../../operation.ts";
import { workerRouteErrors } from "./errors.ts";

export interface WorkerRoutesDeps {
  scripts: Scripts;
  assets: AssetUploads;
  routing: Pick<WorkerRouting, "routes" | "domains" | "isActive">;
  /** False if AI bindings are undefined, because no AI server is configured. Default true. */
  offersAi?: boolean;
  objectNamespaces: ObjectNamespaces;
  /** Runs scheduled handlers. If absent, they cannot be run on request. */
  live?: Pick<LiveWorkers, "scheduled">;
  clock?: Pick<Clock, "now">;
  /**
   * Returns the URL of a worker whose subdomain is enabled; `label` is the account's. If absent, the API shows no URL.
   */
  urlOf?: (label: string, script: string) => string;
}

export const WORKERS = "/accounts/{account_id}/workers";
export const SCRIPT = `${WORKERS}/scripts/{script_name}`;
export const ENVIRONMENT_PATH = `${WORKERS}/services/{service_name}/environments/{environment_name}`;

/** Shared fields of the worker operations. */
export const WORKER_READ_OPTIONS = { tag: "Workers", permission: "Workers Scripts Read" } as const;
export const WORKER_WRITE_OPTIONS = { tag: "Workers", permission: "Workers Scripts Write" } as const;

/** Maximum upload size; the domain limits modules and source maps. */
export const UPLOAD_BYTES = 48 * 1024 * 1024;
/** The same in base64 within JSON. */
export const JSON_UPLOAD_BYTES = 68 * 1024 * 1024;

/** Returns the account and the script specified in the path. */
export const accountAndScript = (params: Record<string, string>): [account: string, name: string] => [
  params.account_id!,
  (params.script_name ?? params.service_name)!,
];

export async function requireScript(scripts: Scripts, account: string, name: string): Promise<Script> {
  const script = await scripts.get(account, name);
  if (script === undefined) throw workerErrors.scriptMissing({ script: name });
  return script;
}

/** Finds a service: a worker in its only environment, `production`. Throws serviceMissing, environmentMissing. */
export async function requireService(scripts: Scripts, params: Record<string, string>): Promise<Script> {
  const [account, name] = accountAndScript(params);
  const script = await scripts.get(account, name);
  if (script === undefined) throw workerRouteErrors.serviceMissing({ name });
  const environment = params.environment_name ?? "production";
  if (environment !== "production") throw workerRouteErrors.environmentMissing({ name, environment });
  return script;
}

export async function requireVersion(scripts: Scripts, account: string, name: string, id: string): Promise<Version> {
  const version = await scripts.version(account, name, id);
  if (version === undefined) throw workerErrors.versionMissing({ version: id, script: name });
  return version;
}

/**
 * A custom domain changes the DNS records and the requests of a host, so attaching one requires the zone's permission
 * for routes, and replacing other records also requires its permission for DNS. Throws notAllowed.
 */
export const domainAccessOf =
  ({ caller }: Pick<Call, "caller">): CheckDomainAccess =>
  ({ id, account }, what) => {
    const permission = what === "domains" ? "Workers Routes Write" : "DNS Write";
    if (!caller.allows(permission, { zone: id, account }))
      throw apiErrors.notAllowed({ permission: JSON.stringify(permission) });
  };

/** True if a query flag is set: `?force=true`. */
export const isOn = (value: string | undefined): boolean => value === "true" || value === "1";
