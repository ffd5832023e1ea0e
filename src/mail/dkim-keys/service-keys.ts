import type { Settings } from "../../kernel/settings.ts";
import type { DkimKeys } from "./dkim-keys.ts";
import type { DkimRecord, DkimSigningKey } from "./types.ts";

/** No zone has this id, so deleting a zone never deletes these keys. */
const SERVICE = { zone: "service", account: "", use: "routing" as const };
/**
 * The forward domain may be a routed domain with its own keys, and a selector can hold only one key. A label has at
 * most 63 octets.
 */
const serviceSelector = (selector: string) => `${selector.slice(0, 50)}-forward`;

/** The keys that sign forwards and system mail for the forward domain. */
export interface ServiceKeys {
  domain: string;
  /** Served from memory after the first call. */
  keys(): Promise<DkimSigningKey[]>;
  /** The DNS records that the domain must publish for the keys. */
  records(): Promise<DkimRecord[]>;
}

/** The keys are created on first use. All processes of an installation share them. */
export function createServiceKeys({ email }: Pick<Settings, "email">, dkimKeys: DkimKeys): ServiceKeys {
  const service = {
    ...SERVICE,
    domain: email.forward_domain.toLowerCase(),
    selector: serviceSelector(email.dkim_selector),
  };
  let created: Promise<unknown> | undefined;

  function ensured() {
    created ??= dkimKeys.ensure(service).catch((err: unknown) => {
      created = undefined;
      throw err;
    });
    return created;
  }

  return {
    domain: service.domain,
    async keys() {
      await ensured();
      return dkimKeys.signers(service);
    },
    async records() {
      await ensured();
      return dkimKeys.records(service);
    },
  };
}
