import type { ReportedPolicy, TlsFailure, TlsResults } from "../types.ts";
import type { SessionFailure } from "./failure.ts";
import type { NextHop } from "./next-hops.ts";
import type { DeliverySession, SessionTarget } from "./session.ts";
import { allowsHost } from "./tls-policy.ts";

/** Records the result of each session once for each domain that uses it. */
interface SessionResults {
  /** True if messages with this envelope sender are TLS reports. */
  isReport(from: string): boolean;
  established(domain: string, target: SessionTarget, session: DeliverySession): void;
  /** Failures outside of TLS are not recorded. */
  failed(domain: string, target: SessionTarget, err: SessionFailure): void;
  /** Called if the policy excluded a host: no session was opened. */
  excluded(domain: string, hop: NextHop, policy: ReportedPolicy | undefined, failure: TlsFailure): void;
}

export const WRONG_HOST: TlsFailure = { type: "validation-failure", reason: "the policy does not list the MX host" };

export function createSessionResults(results: TlsResults | undefined): SessionResults {
  /** One connection can carry mail for several domains with the same host. */
  const recordedDomains = new WeakMap<DeliverySession, Set<string>>();

  function record(
    domain: string,
    { host, address }: NextHop,
    policy: ReportedPolicy,
    failure: TlsFailure | undefined,
    sendingIp?: string,
  ) {
    results?.record({ domain, policy, failure: policy.failure ?? failure, mx: host, ip: address, sendingIp });
  }

  return {
    isReport: (from) => results !== undefined && from === results.reportSender,
    established(domain, target, session) {
      const { reported } = target.policy;
      if (results === undefined || reported === undefined) return;
      const domains = recordedDomains.get(session) ?? new Set();
      if (domains.has(domain)) return;
      recordedDomains.set(session, domains.add(domain));
      record(domain, target, reported, failureOf(reported, target.host, session), session.sendingIp);
    },
    failed(domain, target, { tlsFailure, sendingIp }) {
      const { reported } = target.policy;
      if (reported !== undefined && tlsFailure !== undefined) record(domain, target, reported, tlsFailure, sendingIp);
    },
    excluded(domain, hop, policy, failure) {
      if (policy !== undefined) record(domain, hop, policy, failure);
    },
  };
}

/** A policy in mode "testing" is evaluated only here, because it stops no mail. */
function failureOf({ type, mx }: ReportedPolicy, host: string, session: DeliverySession): TlsFailure | undefined {
  if (session.tlsVersion() === undefined) return { type: "starttls-not-supported" };
  if (type !== "sts") return undefined;
  return allowsHost({ level: "verified", mx }, host) ? session.certificateFailure() : WRONG_HOST;
}
