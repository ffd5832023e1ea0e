import type { Mailbox } from "../../protocol/rfc5322/index.ts";
import type { Zone, Zones } from "../../zones/index.ts";
import type { DkimUse } from "../dkim-keys/index.ts";
import { mailErrors } from "../errors.ts";
import type { SendingDomain, SendingDomains } from "./types.ts";

export interface SenderDeps {
  domains: Pick<SendingDomains, "find" | "missingRecords">;
  zones: Pick<Zones, "byName">;
  /** True if mail is routed for the name. */
  isRouted?: ((zone: Zone, name: string) => Promise<boolean>) | undefined;
}

/** The permission of an account to send from a domain. */
export interface SenderDomain {
  zone: string;
  name: string;
  /** Selects the keys that sign the message. */
  use: DkimUse;
  /** Undefined if the account sends only to verified addresses, from a routed name. */
  sending: SendingDomain | undefined;
}

/**
 * Checks that an account may send from an address. Mail to verified destination addresses may be sent from any domain
 * routed here, all other mail only from a sending domain whose DNS records exist. `field` is the header field with the
 * address, if it is not From. Throws senderDomainNotAvailable, sendingDisabled.
 */
export async function senderDomain(
  { domains, zones, isRouted }: SenderDeps,
  account: string,
  { domain }: Mailbox,
  areAllVerified: () => Promise<boolean>,
  field?: string,
): Promise<SenderDomain> {
  const fieldNote = field === undefined ? "" : ` (field ${field})`;
  const foundDomain = await domains.find(domain);
  const ownDomain = foundDomain?.account === account ? foundDomain : undefined;
  if (ownDomain?.enabled === true) {
    const [missing] = await domains.missingRecords(ownDomain);
    if (missing === undefined) return { zone: ownDomain.zone, name: domain, use: "sending", sending: ownDomain };
    throw mailErrors.senderDomainNotAvailable({
      domain,
      why: `the ${missing.type} record of ${missing.name} is missing${fieldNote}`,
    });
  }
  if (isRouted !== undefined && (await areAllVerified())) {
    const zone = await zones.byName(domain, { enclosing: true });
    if (zone?.account === account && (await isRouted(zone, domain)))
      return { zone: zone.id, name: domain, use: "routing", sending: undefined };
  }
  if (ownDomain !== undefined) throw mailErrors.sendingDisabled({ domain });
  throw mailErrors.senderDomainNotAvailable({
    domain,
    why: `Email Sending is not enabled for that domain${fieldNote}`,
  });
}
