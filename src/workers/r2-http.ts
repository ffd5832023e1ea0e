import type { IncomingMessage, ServerResponse } from "node:http";
import type { AccountsModule } from "../accounts/index.ts";
import type { Basics } from "../kernel/index.ts";
import { RATE_WINDOW_SECONDS } from "../kernel/failure-windows.ts";
import type { RateLimits } from "../kernel/rate-limits.ts";
import type { Bindings } from "./bindings/bindings.ts";
import { createPublicBuckets } from "./public-buckets/index.ts";
import type { HostOwners } from "./routing/index.ts";
import { createS3HttpHandler, type FindS3Key } from "./s3/index.ts";

export interface R2HttpHandlerOptions {
  /** Parent domain of the S3 endpoints. If empty, S3 requests are accepted only under the path prefix. */
  s3Domain: string;
  /** Parent domain of the managed hosts of public buckets. If empty, buckets have no managed host. */
  publicDomain: string;
  clientIp(request: IncomingMessage): string | undefined;
  /** True if the server itself uses the host name, so that no public bucket can use it. */
  isOwnHost(host: string): boolean;
  /** Failed authentication attempts allowed per client network in five minutes; 0: no limit. */
  failureLimit: number;
  /** True if the hosts of the API are known; otherwise any host may be an API host, and no custom domain applies. */
  hasApiHost: boolean;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** The HTTP endpoints of R2 in addition to the v4 API. */
export interface R2HttpHandlers {
  /** The handlers of the S3 endpoint on the API's host, by path prefix. The account id follows the prefix. */
  prefixes: Record<string, Handler>;
  /** Resolves with the handler of an S3 endpoint or a public bucket, by host name (lower case, without a port). */
  handlerFor(host: string): Handler | undefined | Promise<Handler | undefined>;
}

const S3_PREFIX = "/s3/";

export function createR2HttpHandlers(
  { s3Domain, publicDomain, clientIp, isOwnHost, failureLimit, hasApiHost }: R2HttpHandlerOptions,
  {
    r2,
    accounts,
    owners,
    limits,
  }: {
    r2: Bindings["r2"];
    accounts: Pick<AccountsModule, "s3Credentials">;
    owners: Pick<HostOwners, "find">;
    limits: Pick<RateLimits, "failures">;
  },
  { clock, ids, log }: Pick<Basics, "clock" | "ids" | "log">,
): R2HttpHandlers {
  const findKey: FindS3Key = async (accessKeyId, ip) => {
    if (!/^[0-9a-f]{32}$/.test(accessKeyId)) return undefined;
    const credentials = await accounts.s3Credentials(accessKeyId, ip);
    if (credentials === undefined) return undefined;
    const { secret, caller, recordUse } = credentials;
    return { secret, allows: caller.allows, recordUse };
  };
  const endpoints = { domain: s3Domain.toLowerCase(), prefix: S3_PREFIX, accountInPath: true };
  const failures = limits.failures("s3.failures", { failures: failureLimit, seconds: RATE_WINDOW_SECONDS });
  const s3 = createS3HttpHandler({ ...r2, findKey, endpoints, failures, clientIp, clock, ids, log });
  const publicBuckets = createPublicBuckets({
    ...r2,
    owners,
    hasCustomDomains: hasApiHost,
    domain: publicDomain.toLowerCase(),
    log,
  });
  return {
    prefixes: { [S3_PREFIX]: s3.handle },
    handlerFor(host) {
      if (s3.hasHost(host)) return s3.handle;
      // The server's host names may have changed since the custom domain of a bucket was added.
      return isOwnHost(host) ? undefined : publicBuckets.handlerFor(host);
    },
  };
}
