import type { Basics } from "../../kernel/basics.ts";
import type { Settings } from "../../kernel/settings.ts";
import { addressSet } from "../address-set.ts";
import { smtpName } from "../names.ts";
import { createAuthenticator, type Authenticator } from "./authenticate.ts";
import type { AuthenticationPolicy } from "./policy.ts";
import type { Resolver } from "./resolver.ts";

/** For trusted peers, the results are recorded, but the message is always accepted. */
const TRUSTED_POLICY: Partial<AuthenticationPolicy> = {
  require: "nothing",
  spfFail: "accept",
  dmarcFail: { none: "accept", quarantine: "accept", reject: "accept" },
  temporary: "accept",
  noAuthor: "accept",
  severalAuthors: "accept",
};

/**
 * Builds sender authentication from the `authentication` settings; undefined if it is disabled. Throws UserError for an
 * invalid trusted range.
 */
export function setUpAuthenticator(
  settings: Settings,
  resolver: Resolver,
  { clock, lifecycle }: Basics,
): Pick<Authenticator, "check" | "addResults"> | undefined {
  const {
    enabled,
    trusted,
    require,
    spf_fail: spfFail,
    dmarc_reject: reject,
    dmarc_quarantine: quarantine,
    trusted_sealers: trustedSealers,
  } = settings.authentication;
  if (!enabled) return undefined;
  const isTrusted = addressSet(trusted, "authentication.trusted");
  const authenticator = createAuthenticator({
    resolver,
    authservId: smtpName(settings.smtp),
    clock,
    policy: { require, spfFail, dmarcFail: { none: "accept", quarantine, reject }, trustedSealers },
  });
  lifecycle.onStop("authentication", () => authenticator.close());
  return {
    addResults: authenticator.addResults,
    check: (envelope, source) =>
      authenticator.check(envelope, source, isTrusted(envelope.ip) ? { policy: TRUSTED_POLICY } : {}),
  };
}
