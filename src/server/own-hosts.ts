import type { Settings } from "../kernel/settings.ts";

type HostSettings = Pick<Settings, "api" | "http" | "smtp" | "email" | "stream" | "workers" | "r2">;

/**
 * True for host names (lower case, without a port) that the server itself uses: a tenant must not be able to serve
 * content there.
 */
export function createOwnHosts({ api, http, smtp, email, stream, workers, r2 }: HostSettings) {
  const names = new Set(
    [
      ...api.hosts,
      URL.parse(http.public_url)?.hostname ?? "",
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
    (parentSuffixes.some((parent) => host.endsWith(parent)) && (publicSuffix === "." || !host.endsWith(publicSuffix)));
}

const hostOf = (text: string) => text.toLowerCase().replace(/:\d+$/, "").replace(/\.$/, "");
