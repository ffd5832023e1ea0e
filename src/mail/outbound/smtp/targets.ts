import type { SmtpReply } from "../../messages/index.ts";
import type { DaneLookup, LocalHop, PolicyLookup, ReportedPolicy, SmartHost, TlsFailure, TlsPolicy } from "../types.ts";
import type { NextHop } from "./next-hops.ts";
import { reply } from "./replies.ts";
import type { NextHopRoutes } from "./routes.ts";
import type { SessionTarget } from "./session.ts";
import { allowsHost } from "./tls-policy.ts";
import { WRONG_HOST } from "./tls-results.ts";

interface TargetsOptions {
  routes: NextHopRoutes;
  smartHosts: SmartHost[];
  policyFor?: PolicyLookup | undefined;
  daneFor?: DaneLookup | undefined;
  localHop?: LocalHop | undefined;
}

/** Why mail cannot be sent to any host. */
interface NoTarget {
  ok: false;
  permanent: boolean;
  reply: SmtpReply;
}

interface TargetRequest {
  /** Uses opportunistic TLS regardless of the domain's policy: needed for TLS reports. */
  ignorePolicy?: boolean;
  /** Called for each host that the policy excludes. */
  onExcluded?: (hop: NextHop, policy: ReportedPolicy | undefined, failure: TlsFailure) => void;
}

const NO_POLICY: ReportedPolicy = { type: "no-policy-found", lines: [], mx: [] };
const OPPORTUNISTIC: TlsPolicy = { level: "opportunistic", reported: NO_POLICY };

/** Creates the targets for a domain, in order, with their TLS requirements, or the reason why the domain has none. */
export function createTargets({
  routes,
  smartHosts,
  policyFor,
  daneFor,
  localHop,
}: TargetsOptions): (domain: string, request?: TargetRequest) => Promise<SessionTarget[] | NoTarget> {
  async function serversOf(
    domain: string,
    isOurs: boolean,
    { ignorePolicy = false, onExcluded }: TargetRequest,
  ): Promise<SessionTarget[] | NoTarget> {
    const routed = await routes.to(domain, { ours: isOurs });
    if (!routed.ok) return routed;
    if (ignorePolicy) return routed.hops.map((hop) => ({ ...hop, policy: { level: "opportunistic" } }));
    const names = [...new Set(routed.hops.map(({ host }) => host))];
    const [policy = OPPORTUNISTIC, ...daneEntries] = await Promise.all([
      policyFor?.(domain),
      ...names.map(async (host) => [host, await daneFor?.(domain, host)] as const),
    ]);
    const dane = new Map(daneEntries);
    const targets: SessionTarget[] = [];
    let why: string | undefined;
    for (const hop of routed.hops) {
      const daneFinding = dane.get(hop.host);
      // RFC 8461 2: an MTA-STS policy never makes up for a DANE failure, so with DANE no other policy is consulted.
      if (daneFinding?.kind === "policy") targets.push({ ...hop, host: daneFinding.host, policy: daneFinding.policy });
      else if (daneFinding?.kind === "unknown") {
        why ??= daneFinding.why;
        onExcluded?.(hop, daneFinding.reported, { type: "dnssec-invalid" });
      } else if (allowsHost(policy, hop.host)) targets.push({ ...hop, policy });
      else onExcluded?.(hop, policy.reported, WRONG_HOST);
    }
    if (targets.length > 0) return targets;
    return {
      ok: false,
      permanent: false,
      reply: reply(
        451,
        "4.7.5",
        why ?? `the MTA-STS policy of ${domain} allows none of its mail servers (${names[0]})`,
      ),
    };
  }

  return async (domain, request = {}) => {
    if (smartHosts.length > 0) return routes.smart();
    const localTarget = await localHop?.(domain);
    return localTarget === undefined || localTarget === "by-mx"
      ? serversOf(domain, localTarget !== undefined, request)
      : routes.host(localTarget);
  };
}
