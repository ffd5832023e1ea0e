import type { IncomingMessage } from "node:http";
import type { ScriptRef } from "../scripts/port.ts";
import type { ScriptReferences } from "../scripts/references.ts";

/**
 * Routes and custom domains: the hosts and URLs in zones for which workers handle requests. Throws UserErrors of
 * `routingErrors`. Every change resolves once it is on disk, and applies to the next request in this process.
 */
export interface WorkerRouting {
  routes: Routes;
  domains: Domains;
  /** False if no route and no custom domain applies to requests, because the hosts of the API are unknown. */
  readonly isActive: boolean;
  /**
   * Resolves with the worker for a request, by its host and URL. Only the routes and domains of the account that owns
   * the host apply, which is the account of the closest zone. Routes take precedence over custom domains, and a route
   * without a worker disables the other routes for its URLs.
   */
  match(request: IncomingMessage): ScriptRef | undefined | Promise<ScriptRef | undefined>;
  /** True if match() has found a worker for the request. */
  isRouted(request: IncomingMessage): boolean;
  /** The workers of routes and custom domains. */
  readonly references: ScriptReferences;
  /** Deletes the routes and the custom domains of a deleted worker. */
  removeScript(account: string, script: string): Promise<void>;
  /** Reads all routes and domains, and deletes those of deleted zones. Call it at start. */
  load(): Promise<void>;
  close(): Promise<void>;
}

export interface Routes {
  list(zone: string): Promise<WorkerRoute[]>;
  /** Resolves with the routes of a worker, with the names of their zones. */
  listByScript(account: string, script: string): Promise<(WorkerRoute & { zoneName: string })[]>;
  /** Throws routeMissing. */
  get(zone: string, id: string): Promise<WorkerRoute>;
  /**
   * If `script` is undefined, no worker runs for the pattern. Throws badPattern, outsideZone, othersZone,
   * routeScriptMissing, routeExists, tooManyRoutes.
   */
  create(zone: string, route: { pattern: string; script: string | undefined }): Promise<WorkerRoute>;
  /** Throws routeMissing and the errors of create(). */
  update(zone: string, id: string, route: { pattern: string; script: string | undefined }): Promise<WorkerRoute>;
  /** Throws routeMissing. */
  delete(zone: string, id: string): Promise<void>;
  /**
   * Returns the zones in which replace() needs access to routes: those of the patterns, and those of the routes that it
   * would delete. Throws badPattern, outsideZone, zoneMissing, othersZone, and routeExists for a pattern of another
   * worker.
   */
  plan(account: string, script: string, patterns: readonly WantedRoute[]): Promise<RoutingZone[]>;
  /** Replaces all routes of the worker, or changes nothing. Throws the errors of plan() and create(). */
  replace(
    account: string,
    script: string,
    patterns: readonly WantedRoute[],
  ): Promise<(WorkerRoute & { zoneName: string })[]>;
}

export interface WantedRoute {
  pattern: string;
  zoneId?: string | undefined;
  zoneName?: string | undefined;
}

export interface WorkerRoute {
  /** 32 hex digits. */
  id: string;
  account: string;
  zone: string;
  /** The pattern as sent. */
  pattern: string;
  script: string | undefined;
}

export interface Domains {
  /** Ordered by host name. */
  list(account: string, filter?: DomainFilter): Promise<WorkerDomain[]>;
  /** Throws domainMissing. */
  get(account: string, id: string): Promise<WorkerDomain>;
  /** Attaches a domain. If it belongs to another worker of the account, it is moved. Throws the errors of replace(). */
  attach(account: string, script: string, domain: WantedDomain, checkAccess: CheckDomainAccess): Promise<WorkerDomain>;
  /** Throws domainMissing. */
  detach(account: string, id: string, checkAccess: CheckDomainAccess): Promise<void>;
  /**
   * Returns the effect that replace() would have, without changing anything. Throws badHostname, zoneMissing,
   * othersZone.
   */
  plan(account: string, script: string, domains: readonly WantedDomain[]): Promise<DomainPlan>;
  /**
   * Replaces all domains of the worker and their DNS records, or changes nothing. Throws badHostname, zoneMissing,
   * othersZone, domainTaken, recordsExist, tooManyRoutes.
   */
  replace(
    account: string,
    script: string,
    domains: readonly WantedDomain[],
    override: { origins: boolean; records: boolean },
    checkAccess: CheckDomainAccess,
  ): Promise<WorkerDomain[]>;
  /** Throws the errors of replace() without changing anything. The worker need not exist. */
  validate(
    account: string,
    script: string,
    domains: readonly WantedDomain[],
    override: { origins: boolean; records: boolean },
    checkAccess: CheckDomainAccess,
  ): Promise<void>;
  /** Resolves with the hosts of the enabled domains on the server, which need certificates, sorted. */
  enabledHosts(): Promise<{ host: string; account: string }[]>;
}

/**
 * Throws if the caller may not change `what` in the zone: `domains` are custom domains, with the DNS records that
 * belong to them; `records` are other DNS records, which a domain replaces. Called before the change, for each zone in
 * which something changes.
 */
export type CheckDomainAccess = (zone: RoutingZone, what: "domains" | "records") => void;

export type DomainFilter = Partial<Record<"hostname" | "script" | "zone" | "zoneName", string | undefined>>;

export interface WantedDomain {
  hostname: string;
  zoneId?: string | undefined;
  zoneName?: string | undefined;
  /** Default true. */
  enabled?: boolean | undefined;
  /** Stored without effect. Default false. */
  previewsEnabled?: boolean | undefined;
}

export interface WorkerDomain {
  /** 32 hex digits. */
  id: string;
  account: string;
  zone: string;
  zoneName: string;
  hostname: string;
  script: string;
  enabled: boolean;
  previewsEnabled: boolean;
}

interface DomainPlan {
  added: WorkerDomain[];
  removed: WorkerDomain[];
  /** `modified` is true if the domain belongs to another worker or its settings change. */
  updated: (WorkerDomain & { modified: boolean })[];
  /** Domains for which the zone has other DNS records. */
  conflicting: WorkerDomain[];
}

export interface RoutingZone {
  /** 32 hex digits. */
  id: string;
  account: string;
  /** In lower case. */
  name: string;
}

/** The zones of the server, which implements this interface. */
export interface RoutingZones {
  find(id: string): Promise<RoutingZone | undefined>;
  /** Resolves with the closest zone that contains the host name. */
  findEnclosing(host: string): Promise<RoutingZone | undefined>;
  /** Returns the host names for which the zone has other address records. */
  conflicts(zone: RoutingZone, hosts: readonly string[]): Promise<string[]>;
  /**
   * Replaces all DNS records of custom domains in the zone with records for `hosts`. With `override`, also replaces
   * other address records of these hosts.
   */
  publish(zone: RoutingZone, hosts: readonly string[], override: boolean): Promise<void>;
}
