import type { IncomingMessage, ServerResponse } from "node:http";
import { isIP } from "node:net";
import type { Settings } from "../kernel/settings.ts";
import { createPublishedSts, type DmarcReporting } from "../mail/index.ts";
import type { Zones } from "../zones/index.ts";
import type { Basics, Store } from "./compose.ts";
import type { ServeDns } from "./dns.ts";
import type { Role } from "./roles.ts";

export interface MtaStsParts {
  store: Pick<Store, "db" | "events">;
  settings: Settings;
  zones: Zones;
  dns: Pick<ServeDns, "lookups">;
  roles: ReadonlySet<Role>;
  reports: Pick<DmarcReporting, "tlsReportUri">;
}

export interface MtaSts {
  /** Answers for `https://mta-sts.<domain>/.well-known/mta-sts.txt`; false: not one of its requests. */
  respond(request: IncomingMessage, response: ServerResponse): Promise<boolean>;
  /** Hosts that need a certificate: those that lead here, as far as anybody can see. */
  hosts(): Promise<string[]>;
}

const PATH = "/.well-known/mta-sts.txt";
/** Certificates for this reason at most. */
const MAX_HOSTS = 100;

/** The policies that senders ask for before they send mail to a routed domain. */
export function composeMtaSts(
  { store: { db, events }, settings: { email, http, tls }, zones, dns: { lookups }, roles, reports }: MtaStsParts,
  { log, lifecycle }: Basics,
): MtaSts {
  const offered = tls.https || http.public_url.startsWith("https://");
  const webHost = publicHost(http.public_url) ?? email.mx[0]!;
  const published = createPublishedSts({
    db,
    events,
    zones,
    log,
    mode: offered ? email.mta_sts : "off",
    mx: email.mx,
    webHost,
    reportTo: reports.tlsReportUri,
  });
  lifecycle.onStop("MTA-STS", () => published.close());
  if (roles.has("dns"))
    published.sweep().catch((err: unknown) => log.error({ err }, "MTA-STS records could not be looked at"));

  return {
    async respond({ url = "", method, headers: { host = "" } }, response) {
      if (url !== PATH) return false;
      const policy = await published.policyOf(host.toLowerCase().replace(/:\d+$/, "").replace(/\.$/, ""));
      if (policy === undefined) return false;
      // RFC 8461 3.3: of this media type, without redirections.
      if (method !== "GET" && method !== "HEAD") response.writeHead(405, { allow: "GET, HEAD" }).end();
      else
        response
          .writeHead(200, { "content-type": "text/plain; charset=utf-8", "content-length": Buffer.byteLength(policy) })
          .end(method === "HEAD" ? undefined : policy);
      return true;
    },
    async hosts() {
      const hosts = await published.hosts(MAX_HOSTS);
      const leadHere = await Promise.all(
        hosts.map((host) =>
          lookups.resolve(host, "CNAME").then(
            ([target]) => target === webHost,
            () => false,
          ),
        ),
      );
      return hosts.filter((_, index) => leadHere[index]);
    },
  };
}

function publicHost(url: string): string | undefined {
  const host = url === "" ? "" : new URL(url).hostname;
  return host === "" || host === "localhost" || isIP(host.replace(/^\[|\]$/g, "")) ? undefined : host;
}
