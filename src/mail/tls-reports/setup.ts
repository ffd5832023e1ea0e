import { readFileSync } from "node:fs";
import { createGuardedFetch } from "../../kernel/guarded-fetch.ts";
import type { Basics } from "../../kernel/basics.ts";
import type { Settings } from "../../kernel/settings.ts";
import type { Store } from "../../store/index.ts";
import { parseMailbox } from "../../protocol/rfc5322/index.ts";
import type { Lookups } from "../../zones/index.ts";
import { createTlsReports } from "./reports.ts";
import type { TlsReports } from "./types.ts";

interface TlsReportsSetupDeps {
  store: Pick<Store, "db" | "jobs">;
  settings: Pick<Settings, "outbound" | "email" | "tls">;
  lookups: Pick<Lookups, "resolveTxt" | "resolve4" | "resolve6">;
}

/** Builds TLS reports about outbound SMTP sessions; undefined if disabled in the settings or without a public name. */
export function setUpTlsReports(
  { store: { db, jobs }, settings: { outbound, email, tls }, lookups }: TlsReportsSetupDeps,
  { clock, log, lifecycle }: Basics,
): TlsReports | undefined {
  const domain = email.forward_domain.toLowerCase();
  if (!outbound.tls_reports || outbound.deliver !== "mx" || isInternal(domain)) return undefined;
  const reports = createTlsReports({
    db,
    jobs,
    clock,
    log,
    reporter: {
      domain,
      organization: parseMailbox(email.from)?.name || domain,
      contact: email.postmaster || `postmaster@${domain}`,
    },
    resolveTxt: lookups.resolveTxt,
    fetch: createGuardedFetch({
      allowPrivate: outbound.allow_private,
      ...(tls.acme_ca_file !== "" && { ca: readFileSync(tls.acme_ca_file, "utf8") }),
      async lookup(host) {
        const settledLookups = await Promise.allSettled([lookups.resolve4(host), lookups.resolve6(host)]);
        return settledLookups.flatMap((lookupResult) =>
          lookupResult.status === "fulfilled" ? lookupResult.value : [],
        );
      },
    }),
  });
  lifecycle.onStop("TLS reports", () => reports.close());
  return reports;
}

/** RFC 9476 2: not a public internet name. The default of `email.forward_domain` is such a name. */
const isInternal = (domain: string) => /(^|\.)(internal|localhost)$/.test(domain);
