import type { PlatformHttpOptions } from "../api/index.ts";
import { createClientAddress } from "../kernel/client-address.ts";
import type { Basics } from "../kernel/index.ts";
import type { Settings } from "../kernel/settings.ts";
import { createPublicBuckets, createS3Http, type Bindings, type FindS3Key } from "../workers/index.ts";
import type { Platform } from "./platform.ts";

interface R2HttpDeps {
  settings: Pick<Settings, "r2" | "http">;
  platform: Pick<Platform, "accounts">;
  bindings: Pick<Bindings, "r2">;
  prefixes: NonNullable<PlatformHttpOptions["prefixes"]>;
  /** True if the server itself uses the host name. */
  isOwnHost(host: string): boolean;
}

/** Path of the S3 endpoint on the API's host, followed by the account id. */
const S3_PREFIX = "/s3/";

/** The S3 API and public buckets. */
export function r2Http(
  { settings, platform: { accounts }, bindings: { r2 }, prefixes, isOwnHost }: R2HttpDeps,
  { clock, ids, log }: Basics,
): Required<Pick<PlatformHttpOptions, "prefixes" | "sites">> {
  const { s3_domain: s3Domain, public_domain: publicDomain } = settings.r2;
  const findKey: FindS3Key = async (accessKeyId, ip) => {
    if (!/^[0-9a-f]{32}$/.test(accessKeyId)) return undefined;
    const found = await accounts.s3Credentials(accessKeyId, ip);
    return found && { secret: found.secret, allows: found.caller.allows };
  };
  const s3 = createS3Http({
    ...r2,
    findKey,
    endpoints: { domain: s3Domain.toLowerCase(), prefix: S3_PREFIX, accountInPath: true },
    clientIp: createClientAddress(settings.http.trusted_proxies).ip,
    clock,
    ids,
    log,
  });
  const publicBuckets = createPublicBuckets({ ...r2, domain: publicDomain.toLowerCase(), log });
  return {
    prefixes: { ...prefixes, [S3_PREFIX]: s3.handle },
    sites(host) {
      if (s3.hasHost(host)) return s3.handle;
      // The settings may have changed since a custom domain was added.
      return isOwnHost(host) ? undefined : publicBuckets.at(host);
    },
  };
}
