import type { Settings } from "../kernel/settings.ts";
import type { Resolution } from "../mail/index.ts";

/** Whether mail for a domain comes in here: it is routed, it is where workers have their addresses, or bounces come back to it. */
export function createOwnDomains({ email, workers }: Pick<Settings, "email" | "workers">, resolve: (recipient: string) => Promise<Resolution>): (domain: string) => Promise<boolean> {
  const forwards = email.forward_domain.toLowerCase();
  return async (text) => {
    const domain = text.toLowerCase();
    if (domain === forwards || domain.endsWith(`.${workers.domain}`)) return true;
    const routed = domain.startsWith(`${email.sending_label}.`) ? domain.slice(email.sending_label.length + 1) : domain;
    const { kind, why } = await resolve(`postmaster@${routed}`);
    return kind !== "none" || why !== "not our domain";
  };
}
