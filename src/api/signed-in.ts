import type { IncomingMessage } from "node:http";
import { UserError } from "../kernel/index.ts";
import type { RateLimits } from "../kernel/rate-limits.ts";
import { credentialsOf } from "./authorize.ts";
import type { AccessControl } from "./ports.ts";
import { createFailureLimiter, type RateLimit } from "./rate-limit.ts";

interface SignedInDeps {
  accessControl: AccessControl;
  limits: Pick<RateLimits, "failures">;
  rateLimit: RateLimit;
  clientIp(incoming: IncomingMessage): string | undefined;
}

/**
 * Returns a function that resolves with whether a request has valid credentials. Missing or invalid credentials are not
 * an error, but invalid ones count as failed attempts.
 */
export function createSignedInCheck({
  accessControl,
  limits,
  rateLimit,
  clientIp,
}: SignedInDeps): (incoming: IncomingMessage) => Promise<boolean> {
  const failures = createFailureLimiter(rateLimit, limits);
  return async (incoming) => {
    try {
      const credentials = credentialsOf(incoming.headers, clientIp(incoming));
      await failures.check(credentials.ip, () => accessControl.isKnown?.(credentials.secret) === true);
      if ((await accessControl.authenticate(credentials)) !== undefined) return true;
      await failures.failed(credentials.ip);
    } catch (err) {
      if (!(err instanceof UserError)) throw err;
    }
    return false;
  };
}
