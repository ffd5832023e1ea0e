import type { Settings } from "../kernel/settings.ts";
import type { MailResolver, Resolution } from "../mail/index.ts";

export interface OwnDomainsParts {
  settings: Pick<Settings, "email" | "workers">;
  resolve: (recipient: string) => Promise<Resolution>;
  /** Whether mail is sent from a domain: then bounces come back below it. */
  sends: (domain: string) => Promise<boolean>;
  lookups: Pick<MailResolver, "resolveMx">;
}

/**
 * Whether mail for a domain comes in here: it is where workers have their addresses, bounces of forwards come back to it, or it is routed or
 * takes bounces of sent mail, and the DNS does not lead elsewhere. Anybody with an account can route a zone of any name: that must not draw the mail of others to it.
 */
export function createOwnDomains({
  settings: { email, workers },
  resolve,
  sends,
  lookups,
}: OwnDomainsParts): (domain: string) => Promise<boolean> {
  const forwards = email.forward_domain.toLowerCase();
  const hosts = new Set(email.mx.map((host) => host.toLowerCase().replace(/\.$/, "")));

  async function leadsHere(domain: string): Promise<boolean> {
    try {
      return (await lookups.resolveMx(domain)).some(({ exchange }) =>
        hosts.has(exchange.toLowerCase().replace(/\.$/, "")),
      );
    } catch (err) {
      // Nobody has it. With any other error, whoever asks the same to deliver will find it too, and try again later.
      return (err as NodeJS.ErrnoException).code === "ENOTFOUND";
    }
  }

  async function isRouted(domain: string): Promise<boolean> {
    const { kind, why } = await resolve(`postmaster@${domain}`);
    return kind !== "none" || why !== "not our domain";
  }

  return async (text) => {
    const domain = text.toLowerCase();
    if (domain === forwards || domain.endsWith(`.${workers.domain}`)) return true;
    const label = `${email.sending_label}.`;
    const takes = (domain.startsWith(label) && (await sends(domain.slice(label.length)))) || (await isRouted(domain));
    return takes && leadsHere(domain);
  };
}
