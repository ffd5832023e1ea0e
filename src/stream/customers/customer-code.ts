import { createHash } from "node:crypto";

const LENGTH = 16;
const LETTERS = 36n;

/**
 * An account's code in the names of delivery hosts, `customer-<code>.<domain>`: 16 lower-case letters and digits.
 * Derived only from the account id, so that it is the same on every machine and needs no lookup; 82 bits prevent
 * collisions.
 */
export function customerCode(account: string): string {
  let number = createHash("sha256")
    .update("reelpost customer\0")
    .update(account)
    .digest()
    .reduce((sum, octet) => (sum << 8n) | BigInt(octet), 0n);
  let code = "";
  while (code.length < LENGTH) {
    code += Number(number % LETTERS).toString(36);
    number /= LETTERS;
  }
  return code;
}

/** The code in a host name, or undefined if it is not a delivery host. A port in `domain` is ignored. */
export function codeOfHost(host: string, domain: string): string | undefined {
  const plain = (name: string) => name.toLowerCase().replace(/:\d+$/, "").replace(/\.$/, "");
  const [label, ...rest] = plain(host).split(".");
  const code = /^customer-([a-z0-9]{16})$/.exec(label ?? "")?.[1];
  return domain !== "" && rest.join(".") === plain(domain) ? code : undefined;
}
