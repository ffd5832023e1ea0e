import type { Clock } from "../../../kernel/index.ts";
import type { Settings } from "../../../kernel/settings.ts";
import { readTsigKey } from "../../../protocol/dns/index.ts";
import { dnsErrors } from "./errors.ts";
import type { DnsProvider } from "./port.ts";
import { createPowerDnsProvider } from "./powerdns.ts";
import { createRfc2136Provider } from "./rfc2136.ts";

/** Returns the external server for the zones; undefined for embedded and manual zones. Throws badProvider. */
export function selectProvider(
  { provider, provider_server: server, provider_key: key }: Settings["dns"],
  clock: Clock,
): DnsProvider | undefined {
  if (provider === "embedded" || provider === "manual") return undefined;
  if (server === "" || key === "")
    throw dnsErrors.badProvider({ provider, reason: `dns.provider_${server === "" ? "server" : "key"} is empty` });
  if (provider === "powerdns") {
    if (!/^https?:\/\//.test(server) || !URL.canParse(server))
      throw dnsErrors.badProvider({
        provider,
        reason: `dns.provider_server ${server} is not an http:// or https:// URL`,
      });
    return createPowerDnsProvider({ url: server, apiKey: key, fetch });
  }
  const [, bracketedHost, plainHost, port = "53"] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(server) ?? [];
  const host = bracketedHost ?? plainHost;
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535)
    throw dnsErrors.badProvider({
      provider,
      reason: `dns.provider_server ${server} does not have the form \`address:port\``,
    });
  const tsig = readTsigKey(key);
  if (tsig === undefined)
    throw dnsErrors.badProvider({
      provider,
      reason: "dns.provider_key does not have the form `algorithm:name:secret`",
    });
  return createRfc2136Provider({ server: { host, port: Number(port) }, key: tsig, clock });
}
