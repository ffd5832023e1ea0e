import type { IncomingMessage } from "node:http";
import type { ScriptRef } from "../scripts/port.ts";

/**
 * Routes and custom domains: the hosts of zones at which workers answer. Throws UserErrors of `routingErrors`. Every
 * change resolves once it is on disk and applies to the next request in this process.
 */
export interface WorkerRouting {
  routes: Routes;
  domains: Domains;
  /**
   * The worker for a request, by its host and URL. Routes take precedence over custom domains, and a route without a
   * worker disables the other routes for its URLs.
   */
  match(request: IncomingMessage): ScriptRef | undefined;
  /** True if match() has found a worker for the request. */
  isRouted(request: IncomingMessage): boolean;
  /** Deletes the routes and the custom domains of a deleted worker. */
  removeScript(account: string, script: string): Promise<void>;
  /** Reads all routes and domains, and deletes those of deleted zones. Call it at start. */
  load(): Promise<void>;
  close(): Promise<void>;
}

export interface Routes {
  list(zone: string): Promise<Route[]>;
  /** With the names of their zones. */
  ofScript(account: string, script: string): Promise<(Route & { zoneName: string })[]>;
  /** Throws routeMissing. */
  get(zone: string, id: string): Promise<Route>;
  /** `script` undefined disables workers. Throws badPattern, outsideZone, routeScriptMissing, routeExists, tooManyRoutes. */
  create(zone: string, route: { pattern: string; script: string | undefined }): Promise<Route>;
  /** Throws routeMissing and what create() throws. */
  update(zone: string, id: string, route: { pattern: string; script: string | undefined }): Promise<Route>;
  /** Throws routeMissing. */
  delete(zone: string, id: string): Promise<void>;
  /**
   * The zones of these patterns, in order. Throws badPattern, outsideZone, zoneMissing, and routeExists for a pattern of
   * another worker.
   */
  plan(account: string, script: string, patterns: readonly WantedRoute[]): Promise<RoutingZone[]>;
  /** Makes the routes of the worker exactly these, or changes nothing. Throws what plan() and create() throw. */
  replace(account: string, script: string, patterns: readonly WantedRoute[]): Promise<(Route & { zoneName: string })[]>;
}

export interface WantedRoute {
  pattern: string;
  zoneId?: string | undefined;
  zoneName?: string | undefined;
}

export interface Route {
  /** 32 hex digits. */
  id: string;
  account: string;
  zone: string;
  /** As sent. */
  pattern: string;
  script: string | undefined;
}

export interface Domains {
  /** Ordered by host name. */
  list(account: string, filter?: DomainFilter): Promise<Domain[]>;
  /** Throws domainMissing. */
  get(account: string, id: string): Promise<Domain>;
  /** Attaches one more domain; it moves from another worker. Throws what replace() throws. */
  attach(account: string, script: string, domain: WantedDomain): Promise<Domain>;
  /** Throws domainMissing. */
  detach(account: string, id: string): Promise<void>;
  /** The effect of replace() without changing anything. Throws badHostname, zoneMissing. */
  plan(account: string, script: string, domains: readonly WantedDomain[]): Promise<DomainPlan>;
  /**
   * Makes the domains of the worker exactly these, with their DNS records, or changes nothing. Throws badHostname,
   * zoneMissing, domainTaken, recordsExist, tooManyRoutes.
   */
  replace(
    account: string,
    script: string,
    domains: readonly WantedDomain[],
    override: { origins: boolean; records: boolean },
  ): Promise<Domain[]>;
  /** Throws what replace() throws, without changing anything. The worker need not exist. */
  validate(
    account: string,
    script: string,
    domains: readonly WantedDomain[],
    override: { origins: boolean; records: boolean },
  ): Promise<void>;
  /** Enabled host names of the server, sorted, at most `limit`: they need certificates. */
  hostnames(limit: number): Promise<string[]>;
}

export type DomainFilter = Partial<Record<"hostname" | "script" | "zone" | "zoneName", string | undefined>>;

export interface WantedDomain {
  hostname: string;
  zoneId?: string | undefined;
  zoneName?: string | undefined;
  /** Default true. */
  enabled?: boolean | undefined;
  /** Stored only. Default false. */
  previewsEnabled?: boolean | undefined;
}

export interface Domain {
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
  added: Domain[];
  removed: Domain[];
  /** `modified`: it belongs to another worker, or its settings change. */
  updated: (Domain & { modified: boolean })[];
  /** Those that have other DNS records. */
  conflicting: Domain[];
}

export interface RoutingZone {
  /** 32 hex digits. */
  id: string;
  account: string;
  /** In lower case. */
  name: string;
}

/** The zones of the server. Implemented by the domain above that knows them. */
export interface RoutingZones {
  find(id: string): Promise<RoutingZone | undefined>;
  /** The closest zone that contains the host name. */
  enclosing(host: string): Promise<RoutingZone | undefined>;
  /** Those of the host names at which the zone has other address records. */
  conflicts(zone: RoutingZone, hosts: readonly string[]): Promise<string[]>;
  /** Makes the DNS records of custom domains in the zone exactly those of `hosts`. `override`: replaces other records. */
  publish(zone: RoutingZone, hosts: readonly string[], override: boolean): Promise<void>;
}
