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
  // Workers, videos and S3 endpoints are below these; the managed hosts of public buckets are checked before.
  const parents = [workers.domain, stream.delivery_domain, r2.s3_domain]
    .map(hostOf)
    .filter((name) => name !== "")
    .map((name) => `.${name}`);
  const publicParent = `.${hostOf(r2.public_domain)}`;
  return (host: string): boolean =>
    names.has(host) ||
    (parents.some((parent) => host.endsWith(parent)) && (publicParent === "." || !host.endsWith(publicParent)));
}

const hostOf = (text: string) => text.toLowerCase().replace(/:\d+$/, "").replace(/\.$/, "");
