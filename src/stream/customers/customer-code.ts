import { createHash } from "node:crypto";

const CODE_LENGTH = 16;
const ALPHABET_SIZE = 36n;

/**
 * Returns an account's code in the names of delivery hosts, `customer-<code>.<domain>`: 16 lower-case letters and
 * digits. Derived only from the account id, so that it is the same on every machine and needs no lookup; 82 bits
 * prevent collisions.
 */
export function customerCode(account: string): string {
  let number = createHash("sha256")
    .update("reelpost customer\0")
    .update(account)
    .digest()
    .reduce((sum, octet) => (sum << 8n) | BigInt(octet), 0n);
  let code = "";
  while (code.length < CODE_LENGTH) {
    code += Number(number % ALPHABET_SIZE).toString(36);
    number /= ALPHABET_SIZE;
  }
  return code;
}

/** Returns the code in a host name, or undefined if it is not a delivery host. A port in `domain` is ignored. */
export function codeOfHost(host: string, domain: string): string | undefined {
  const normalizeHost = (name: string) => name.toLowerCase().replace(/:\d+$/, "").replace(/\.$/, "");
  const [label, ...rest] = normalizeHost(host).split(".");
  const code = /^customer-([a-z0-9]{16})$/.exec(label ?? "")?.[1];
  return domain !== "" && rest.join(".") === normalizeHost(domain) ? code : undefined;
}
