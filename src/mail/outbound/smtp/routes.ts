import type { Clock } from "../../../kernel/index.ts";
import type { MailResolver, SmartHost } from "../types.ts";
import { resolveHost, routeTo, type NextHopResult } from "./next-hops.ts";
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
const BELIEVED_MS = 60_000;
const MAX_BELIEVED = 1000;
const NOBODY: ReadonlySet<string> = new Set();

export type Routes = ReturnType<typeof createNextHopRoutes>;

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
  const known = new Map<string, { until: number; routed: NextHopResult }>();
  const options = {
    resolver,
    port,
    families,
    mayConnect,
    random,
    ownNames: new Set([name, ...ownNames].map((one) => one.toLowerCase())),
  };

  async function remembered(key: string, look: () => Promise<NextHopResult>): Promise<NextHopResult> {
    const found = known.get(key);
    if (found !== undefined && found.until > clock.now()) return found.routed;
    const routed = await look();
    known.delete(key);
    // Failures are not cached: the queue waits long enough before the next lookup.
    if (routed.ok) known.set(key, { until: clock.now() + BELIEVED_MS, routed });
    if (known.size > MAX_BELIEVED) known.delete(known.keys().next().value!);
    return routed;
  }

  async function targetsOf(host: SmartHost): Promise<SessionTarget[] | Exclude<NextHopResult, { ok: true }>> {
    const routed = await remembered(`host ${host.host}:${host.port}`, () =>
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
      remembered(`domain ${domain}`, () => routeTo(domain, ours ? { ...options, ownNames: NOBODY } : options)),
    /** All addresses of one configured host. */
    host: targetsOf,
    /** All addresses of all smart hosts, in the configured order. */
    async smart(): Promise<SessionTarget[] | Exclude<NextHopResult, { ok: true }>> {
      const each = await Promise.all(smartHosts.map(targetsOf));
      const targets = each.flatMap((one) => (Array.isArray(one) ? one : []));
      return targets.length > 0 ? targets : (each[0] as Exclude<NextHopResult, { ok: true }>);
    },
  };
}
