import type { Settings } from "../../kernel/settings.ts";
import type { LiveWorkers, Scripts } from "../../workers/index.ts";
import type { MailRoute } from "../messages/index.ts";
import type { Resolution } from "./types.ts";

/** The route of a recipient, with the account and zone that own the mail. */
export type OwnedRoute = MailRoute & {
  account?: string | undefined;
  zone?: string | undefined;
  /** True if the recipient is rejected with a 4xx reply because the cause may be temporary. */
  temporary?: true;
};

interface RecipientRouteDeps {
  settings: Pick<Settings, "workers" | "email">;
  resolve(recipient: string): Promise<Resolution>;
  scripts: Pick<Scripts, "bySubdomain">;
  /** Finds the zone of a report address. */
  reports?: { zoneByAddress(address: string): Promise<{ zone: string; account: string } | undefined> };
  /** Resolves with true if Email Sending is enabled for a domain. */
  isSendingDomain?: (domain: string) => Promise<boolean>;
}

/**
 * Decides which recipients this server accepts: those that a rule of a routed domain matches, the addresses of workers,
 * report addresses, and the postmaster of each domain that receives bounces. Any other recipient is `none`, so the
 * server never relays.
 */
export function createRecipientRoute({
  settings: { workers, email },
  resolve,
  scripts,
  reports,
  isSendingDomain,
}: RecipientRouteDeps): (recipient: string) => Promise<OwnedRoute> {
  const forwardDomain = email.forward_domain.toLowerCase();
  const label = `${email.sending_label}.`;

  /** RFC 5321 4.5.1 requires a postmaster for every domain that receives mail. */
  async function receivesBounces(domain: string): Promise<boolean> {
    if (domain === forwardDomain) return true;
    return domain.startsWith(label) && (await isSendingDomain?.(domain.slice(label.length))) === true;
  }

  return async (recipient) => {
    const resolution = await resolve(recipient);
    if (resolution.kind !== "none" || resolution.why !== "not our domain") return resolution;
    const [, domain] = /^(?:postmaster|abuse)@(.+)$/.exec(recipient.toLowerCase()) ?? [];
    if (domain !== undefined && (await receivesBounces(domain))) return resolve("postmaster");
    const reportZone = await reports?.zoneByAddress(recipient);
    if (reportZone !== undefined) return { kind: "report", ...reportZone };
    return workerRoute(recipient, workers.domain, scripts);
  };
}

/** Every worker has the address `<worker>@<account label>.<workers domain>`. */
async function workerRoute(
  recipient: string,
  domain: string,
  scripts: Pick<Scripts, "bySubdomain">,
): Promise<OwnedRoute> {
  const at = recipient.lastIndexOf("@");
  const host = recipient.slice(at + 1).toLowerCase();
  if (!host.endsWith(`.${domain}`)) return { kind: "none" };
  // `user+tag@…` is delivered to `user` (RFC 5233).
  const [script] = recipient.slice(0, at).toLowerCase().split("+", 1);
  const ref = await scripts.bySubdomain(host.slice(0, -domain.length - 1), script!);
  return ref === undefined
    ? { kind: "none" }
    : { kind: "worker", script: `${ref.account}/${ref.script}`, account: ref.account };
}

/** Returns the worker of a route. Within the mail domain, a worker is named `<account>/<script>`. */
export function parseWorkerName(name: string): Parameters<LiveWorkers["email"]>[0] {
  const slash = name.indexOf("/");
  return { account: name.slice(0, slash), script: name.slice(slash + 1) };
}
