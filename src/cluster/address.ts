import { clusterErrors } from "./errors.ts";

/** Parses `host:port`; an IPv6 host is in brackets. Throws badAddress, whose message names `setting`. */
export function parseHostPort(text: string, setting = "cluster.address"): { host: string; port: number } {
  const [, ipv6, name, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s/]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = ipv6 ?? name;
  if (host === undefined || Number(port) > 65_535) throw clusterErrors.badAddress({ setting, text });
  return { host, port: Number(port) };
}

export const formatAddress = (host: string, port: number): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
