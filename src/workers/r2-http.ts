import type { IncomingMessage, ServerResponse } from "node:http";
import type { AccountsModule } from "../accounts/index.ts";
import type { Basics } from "../kernel/index.ts";
import type { Bindings } from "./bindings/bindings.ts";
import { createPublicBuckets } from "./public-buckets/index.ts";
import { createS3Http, type FindS3Key } from "./s3/index.ts";

export interface R2HttpOptions {
  /** Parent domain of the S3 endpoints. "": none. */
  s3Domain: string;
  /** Parent domain of the managed hosts of public buckets. "": none. */
  publicDomain: string;
  clientIp(request: IncomingMessage): string | undefined;
  /** True if the server itself uses the host name, so that it cannot be the domain of a public bucket. */
  isOwnHost(host: string): boolean;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** The HTTP endpoints of R2 besides the v4 API. */
export interface R2Http {
  /** The S3 endpoint on the API's host, followed by the account id: a handler by path prefix. */
  prefixes: Record<string, Handler>;
  /** S3 endpoints and public buckets by lower-case host name without a port. */
  sites(host: string): Handler | undefined | Promise<Handler | undefined>;
}

const S3_PREFIX = "/s3/";

export function createR2Http(
  { s3Domain, publicDomain, clientIp, isOwnHost }: R2HttpOptions,
  { r2, accounts }: { r2: Bindings["r2"]; accounts: Pick<AccountsModule, "s3Credentials"> },
  { clock, ids, log }: Pick<Basics, "clock" | "ids" | "log">,
): R2Http {
  const findKey: FindS3Key = async (accessKeyId, ip) => {
    if (!/^[0-9a-f]{32}$/.test(accessKeyId)) return undefined;
    const found = await accounts.s3Credentials(accessKeyId, ip);
    return found && { secret: found.secret, allows: found.caller.allows };
  };
  const endpoints = { domain: s3Domain.toLowerCase(), prefix: S3_PREFIX, accountInPath: true };
  const s3 = createS3Http({ ...r2, findKey, endpoints, clientIp, clock, ids, log });
  const publicBuckets = createPublicBuckets({ ...r2, domain: publicDomain.toLowerCase(), log });
  return {
    prefixes: { [S3_PREFIX]: s3.handle },
    sites(host) {
      if (s3.hasHost(host)) return s3.handle;
      // The settings may have changed since a custom domain was added.
      return isOwnHost(host) ? undefined : publicBuckets.at(host);
    },
  };
}
