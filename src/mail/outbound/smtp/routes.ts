import type { Clock } from "../../../kernel/index.ts";
import type { MailResolver, SmartHost } from "../types.ts";
import { resolveHost, findNextHops, type NextHopResult } from "./next-hops.ts";
import type { SessionTarget } from "./session.ts";

interface RoutesOptions {
  clock: Pick<Clock, "now">;
  name: string;
  resolver: MailResolver;
  smartHosts?: SmartHost[];
  port?: number;
  families?: (4 | 6)[];
  ownNames?: string[];
  mayConnect?: (address: string) => boolean;
  random?: () => number;
}

/**
 * How long a route is cached. Shorter than any sensible TTL; long enough that a thousand messages to one domain cause
 * one lookup.
 */
const CACHE_TTL_MS = 60_000;
const MAX_CACHED = 1000;
const NO_NAMES: ReadonlySet<string> = new Set();

export type NextHopRoutes = ReturnType<typeof createNextHopRoutes>;

/**
 * Routes with a short-lived cache. Hosts of equal preference keep their random order for that time, so that connections
 * are shared.
 */
export function createNextHopRoutes({
  clock,
  name,
  resolver,
  smartHosts = [],
  port = 25,
  families = [4, 6],
  ownNames = [],
  mayConnect = () => true,
  random = Math.random,
}: RoutesOptions) {
  const cachedRoutes = new Map<string, { until: number; routed: NextHopResult }>();
  const options = {
    resolver,
    port,
    families,
    mayConnect,
    random,
    ownNames: new Set([name, ...ownNames].map((one) => one.toLowerCase())),
  };

  async function lookUpCached(key: string, lookUp: () => Promise<NextHopResult>): Promise<NextHopResult> {
    const cachedRoute = cachedRoutes.get(key);
    if (cachedRoute !== undefined && cachedRoute.until > clock.now()) return cachedRoute.routed;
    const routed = await lookUp();
    cachedRoutes.delete(key);
    // Failures are not cached: the queue waits long enough before the next lookup.
    if (routed.ok) cachedRoutes.set(key, { until: clock.now() + CACHE_TTL_MS, routed });
    if (cachedRoutes.size > MAX_CACHED) cachedRoutes.delete(cachedRoutes.keys().next().value!);
    return routed;
  }

  async function targetsOf(host: SmartHost): Promise<SessionTarget[] | Exclude<NextHopResult, { ok: true }>> {
    const routed = await lookUpCached(`host ${host.host}:${host.port}`, () =>
      resolveHost(host.host, { resolver, families, port: host.port }),
    );
    if (!routed.ok) return routed;
    const tls = host.tls ?? (host.port === 465 ? "implicit" : host.auth === undefined ? "opportunistic" : "verified");
    return routed.hops.map((hop) => ({
      ...hop,
      policy: { level: tls === "implicit" ? "verified" : tls },
      ...(tls === "implicit" && { implicitTls: true }),
      ...(host.auth !== undefined && { auth: host.auth }),
    }));
  }

  return {
    /** `ours` is true for a local domain, for which a route to this server is not a loop. */
    to: (domain: string, { ours = false } = {}): Promise<NextHopResult> =>
      lookUpCached(`domain ${domain}`, () => findNextHops(domain, ours ? { ...options, ownNames: NO_NAMES } : options)),
    /** All addresses of one configured host. */
    host: targetsOf,
    /** Resolves with all addresses of all smart hosts, in the configured order. */
    async smart(): Promise<SessionTarget[] | Exclude<NextHopResult, { ok: true }>> {
      const targetLists = await Promise.all(smartHosts.map(targetsOf));
      const targets = targetLists.flatMap((one) => (Array.isArray(one) ? one : []));
      return targets.length > 0 ? targets : (targetLists[0] as Exclude<NextHopResult, { ok: true }>);
    },
  };
}
