import type { Settings } from "../../kernel/settings.ts";
import type { MailResolver } from "../outbound/index.ts";
import type { Resolution } from "./types.ts";

interface LocalDomainsDeps {
  settings: Pick<Settings, "email" | "workers">;
  resolve: (recipient: string) => Promise<Resolution>;
  /** True if Email Sending is enabled for a domain: its bounces arrive at a name under it. */
  isSendingDomain: (domain: string) => Promise<boolean>;
  lookups: Pick<MailResolver, "resolveMx">;
}

/**
 * Decides whether outbound mail for a domain is delivered to this server. The workers domain and the forward domain are
 * local. A domain that is routed here or receives bounces is local only if its MX records name this server or it does
 * not exist in DNS: any account can route a zone of any name, and such a zone must not attract mail for a domain that
 * belongs to someone else.
 */
export function createLocalDomains({
  settings: { email, workers },
  resolve,
  isSendingDomain,
  lookups,
}: LocalDomainsDeps): (domain: string) => Promise<boolean> {
  const forwardDomain = email.forward_domain.toLowerCase();
  const hosts = new Set(email.mx.map((host) => host.toLowerCase().replace(/\.$/, "")));

  async function isDelegatedHere(domain: string): Promise<boolean> {
    try {
      return (await lookups.resolveMx(domain)).some(({ exchange }) =>
        hosts.has(exchange.toLowerCase().replace(/\.$/, "")),
      );
    } catch (err) {
      // True if the domain does not exist in the DNS. After any other error, the delivery fails in the same way and is
      // retried.
      return (err as NodeJS.ErrnoException).code === "ENOTFOUND";
    }
  }

  async function isRouted(domain: string): Promise<boolean> {
    const { kind, why } = await resolve(`postmaster@${domain}`);
    return kind !== "none" || why !== "not our domain";
  }

  return async (text) => {
    const domain = text.toLowerCase();
    if (domain === forwardDomain || domain.endsWith(`.${workers.domain}`)) return true;
    const label = `${email.sending_label}.`;
    const receivesMail =
      (domain.startsWith(label) && (await isSendingDomain(domain.slice(label.length)))) || (await isRouted(domain));
    return receivesMail && isDelegatedHere(domain);
  };
}
