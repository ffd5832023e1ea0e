/** True if the envelope sender is one of the addresses or in one of the @domains. Case-insensitive. */
export function isAllowed(sender: string, allowed: string): boolean {
  const address = sender.toLowerCase();
  const domain = address.slice(address.lastIndexOf("@"));
  return allowed
    .toLowerCase()
    .split(",")
    .map((entry) => entry.trim())
    .some((entry) => entry !== "" && (entry.startsWith("@") ? entry === domain : entry === address));
}
