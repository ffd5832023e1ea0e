import { createHash } from "node:crypto";
import type { Zone } from "../../zones/index.ts";

/** Maximum length of a record's owner name in the `zones` module: 100 characters. */
const MAX_OWNER_LENGTH = 100;

/** Returns the owner under which the zones domain manages the records of a service for a name. */
export function recordOwner(
  zone: Pick<Zone, "name">,
  name: string,
  service: "email-routing" | "email-sending" = "email-routing",
): string {
  if (name === zone.name) return service;
  const subdomainPart = name.slice(0, -zone.name.length - 1);
  const owner = `${service}/${subdomainPart}`;
  return owner.length <= MAX_OWNER_LENGTH
    ? owner
    : `${service}/${createHash("sha256").update(subdomainPart).digest("hex")}`;
}
