import { isIPv4 } from "../../kernel/networks.ts";

/** Returns an IPv4 or IPv6 address as 4 or 16 octets. */
export function addressOctets(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split(".").map(Number));
  // `::` represents all missing groups; an IPv4 tail counts as two groups.
  const text = address.replace(/\d+\.\d+\.\d+\.\d+$/, (tail) =>
    addressOctets(tail)
      .toString("hex")
      .replace(/^(.{4})/, "$1:"),
  );
  const [head = "", tail] = text.split("::");
  const groups = (part: string) => (part === "" ? [] : part.split(":"));
  const before = groups(head);
  const after = tail === undefined ? [] : groups(tail);
  const allGroups = [...before, ...Array<string>(8 - before.length - after.length).fill("0"), ...after];
  return Buffer.from(allGroups.map((group) => group.padStart(4, "0")).join(""), "hex");
}
