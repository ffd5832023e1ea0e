import { isIP } from "node:net";
import { hostname } from "node:os";
import type { Settings } from "../kernel/settings.ts";

type HostSettings = Pick<Settings, "api" | "http" | "dashboard" | "smtp" | "email" | "stream" | "workers" | "r2">;

/**
 * True if the settings name the hosts of the API. Otherwise it responds on any host name, so any host name may be the
 * one to which clients send their API tokens: no route and no custom domain of a tenant may apply.
 */
export const hasApiHost = ({ api, http }: Pick<HostSettings, "api" | "http">): boolean =>
  api.hosts.length > 0 || http.public_url !== "";

/**
 * True for host names (lower case, without a port) that the server itself uses: a tenant must not be able to serve
 * content there. These are the names in the settings, the machine's name, addresses, and names without a dot such as
 * localhost.
 */
export function createOwnHosts(
  { api, http, dashboard, smtp, email, stream, workers, r2 }: HostSettings,
  machineName: string = hostname(),
) {
  const names = new Set(
    [
      ...api.hosts,
      ...dashboard.hosts,
      URL.parse(http.public_url)?.hostname ?? "",
      machineName,
      smtp.name,
      stream.upload_host,
      ...email.mx,
      workers.domain,
      stream.delivery_domain,
      r2.s3_domain,
      r2.public_domain,
    ]
      .map(hostOf)
      .filter((name) => name !== ""),
  );
  // Workers, videos and S3 endpoints are on subdomains of these. So may be the managed hosts of public buckets, which
  // requests reach first.
  const parentSuffixes = [workers.domain, stream.delivery_domain, r2.s3_domain]
    .map(hostOf)
    .filter((name) => name !== "")
    .map((name) => `.${name}`);
  const publicSuffix = `.${hostOf(r2.public_domain)}`;
  return (host: string): boolean =>
    names.has(host) ||
    isIP(host.replace(/^\[|\]$/g, "")) !== 0 ||
    (host !== "" && !host.includes(".")) ||
    (parentSuffixes.some((parent) => host.endsWith(parent)) && (publicSuffix === "." || !host.endsWith(publicSuffix)));
}

const hostOf = (text: string) => text.toLowerCase().replace(/:\d+$/, "").replace(/\.$/, "");
