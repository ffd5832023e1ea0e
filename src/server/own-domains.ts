import type { Settings } from "../kernel/settings.ts";
import type { MailResolver, Resolution } from "../mail/index.ts";

export interface OwnDomainsParts {
  settings: Pick<Settings, "email" | "workers">;
  resolve: (recipient: string) => Promise<Resolution>;
  lookups: Pick<MailResolver, "resolveMx">;
}

/**
 * Whether mail for a domain comes in here: it is where workers have their addresses, bounces come back to it, or it is routed and the DNS does
 * not lead elsewhere. Anybody with an account can route a zone of any name: that must not draw the mail of others to it.
 */
export function createOwnDomains({ settings: { email, workers }, resolve, lookups }: OwnDomainsParts): (domain: string) => Promise<boolean> {
  const forwards = email.forward_domain.toLowerCase();
  const hosts = new Set(email.mx.map((host) => host.toLowerCase().replace(/\.$/, "")));

  async function leadsHere(domain: string): Promise<boolean> {
    try {
      return (await lookups.resolveMx(domain)).some(({ exchange }) => hosts.has(exchange.toLowerCase().replace(/\.$/, "")));
    } catch (err) {
      // Nobody has it. With any other error, whoever asks the same to deliver will find it too, and try again later.
      return (err as NodeJS.ErrnoException).code === "ENOTFOUND";
    }
  }

  return async (text) => {
    const domain = text.toLowerCase();
    if (domain === forwards || domain.endsWith(`.${workers.domain}`)) return true;
    const routed = domain.startsWith(`${email.sending_label}.`) ? domain.slice(email.sending_label.length + 1) : domain;
    const { kind, why } = await resolve(`postmaster@${routed}`);
    return (kind !== "none" || why !== "not our domain") && leadsHere(domain);
  };
}
