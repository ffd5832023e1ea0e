import type { Routed } from "../mail/index.ts";
import type { Scripts } from "../workers/index.ts";

/** Every worker has an address, as it has a URL: `<worker>@<account's label>.<workers domain>`. Mail to anybody else is not for this server. */
export async function mailRoute(
  recipient: string,
  domain: string,
  scripts: Pick<Scripts, "bySubdomain">,
): Promise<Routed> {
  const at = recipient.lastIndexOf("@");
  const host = recipient.slice(at + 1).toLowerCase();
  if (!host.endsWith(`.${domain}`)) return { kind: "none" };
  // `user+tag@…` is for `user` (RFC 5233).
  const [script] = recipient.slice(0, at).toLowerCase().split("+", 1);
  const ref = await scripts.bySubdomain(host.slice(0, -domain.length - 1), script!);
  return ref === undefined
    ? { kind: "none" }
    : { kind: "worker", script: `${ref.account}/${ref.script}`, account: ref.account };
}
