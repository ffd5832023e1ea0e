import { codeOfHost, customerCode } from "./customer-code.ts";

/**
 * True if content of the account may be served under a host: `customer-<code>.<domain>` serves only that account.
 * Without a domain, these hosts do not exist.
 */
export type AccountHostCheck = (host: string | undefined, account: string) => boolean;

export function createAccountHostCheck(domain = ""): AccountHostCheck {
  const accountCodes = new Map<string, string>();
  return (host, account) => {
    const requestedCode = domain === "" || host === undefined ? undefined : codeOfHost(host, domain);
    if (requestedCode === undefined) return true;
    if (accountCodes.size > 1000) accountCodes.clear();
    return accountCodes.getOrInsertComputed(account, customerCode) === requestedCode;
  };
}
