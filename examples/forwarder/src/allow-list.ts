/** Whether the envelope sender is one of the addresses or of one of the @domains. Case does not matter. */
export function isAllowed(sender: string, allowed: string): boolean {
  const address = sender.toLowerCase();
  const domain = address.slice(address.lastIndexOf("@"));
  return allowed
    .toLowerCase()
    .split(",")
    .map((entry) => entry.trim())
    .some((entry) => entry !== "" && (entry.startsWith("@") ? entry === domain : entry === address));
}
