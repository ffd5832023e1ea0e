import type { Settings } from "../../kernel/settings.ts";
import type { DkimKeys } from "./dkim-keys.ts";
import type { DkimRecord, DkimSigningKey } from "./types.ts";

/** No zone has this id, so deleting a zone never deletes these keys. */
const SERVICE_KEY_OWNER = { zone: "service", account: "", use: "routing" as const };
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
  /** Resolves with the DNS records that the domain must publish for the keys. */
  records(): Promise<DkimRecord[]>;
}

/** Creates the keys on first use. All processes of an installation share them. */
export function createServiceKeys({ email }: Pick<Settings, "email">, dkimKeys: DkimKeys): ServiceKeys {
  const service = {
    ...SERVICE_KEY_OWNER,
    domain: email.forward_domain.toLowerCase(),
    selector: serviceSelector(email.dkim_selector),
  };
  let creation: Promise<unknown> | undefined;

  function ensureKeys() {
    creation ??= dkimKeys.ensure(service).catch((err: unknown) => {
      creation = undefined;
      throw err;
    });
    return creation;
  }

  return {
    domain: service.domain,
    async keys() {
      await ensureKeys();
      return dkimKeys.signers(service);
    },
    async records() {
      await ensureKeys();
      return dkimKeys.records(service);
    },
  };
}
