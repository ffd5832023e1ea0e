import { codeOfHost, customerCode } from "./customer-code.ts";

/** Whether something of the account may be shown under a host: on `customer-<code>.<domain>`, only what is theirs. Without a domain there are no such hosts. */
export type OwnHosts = (host: string | undefined, account: string) => boolean;

export function createOwnHosts(domain = ""): OwnHosts {
  const codes = new Map<string, string>();
  return (host, account) => {
    const asked = domain === "" || host === undefined ? undefined : codeOfHost(host, domain);
    if (asked === undefined) return true;
    if (codes.size > 1000) codes.clear();
    return codes.getOrInsertComputed(account, customerCode) === asked;
  };
}
