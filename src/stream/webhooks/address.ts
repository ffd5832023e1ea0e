import { isIP } from "node:net";
import { UserError } from "../../kernel/index.ts";
import { readUrl } from "../../kernel/guarded-fetch.ts";
import { isLoopbackAddress, isNotPublicAddress } from "../../kernel/networks.ts";
import { streamErrors } from "../errors.ts";

/**
 * Where a webhook may be sent, in the spelling it is kept in. Names are resolved and checked when something is sent; what is plainly a private
 * address is refused here already. Throws invalidUrl.
 */
export function webhookUrl(given: string, allowPrivate: boolean): string {
  let url: URL;
  try {
    url = readUrl(given.trim());
  } catch (err) {
    throw err instanceof UserError
      ? streamErrors.invalidUrl({ reason: String(err.details["reason"]) }, { cause: err })
      : err;
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const closed =
    isIP(host) === 0 ? /^(.+\.)?localhost\.?$/i.test(host) : isLoopbackAddress(host) || isNotPublicAddress(host);
  if (closed && !allowPrivate)
    throw streamErrors.invalidUrl({
      reason: `${host} is no place on the internet, and webhooks are not sent to private addresses`,
    });
  return url.href;
}
