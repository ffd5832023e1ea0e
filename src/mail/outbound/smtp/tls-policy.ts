import type { TlsPolicy } from "../types.ts";

/** True if a policy allows mail to this host: RFC 8461 4.1, where "*." matches exactly one label. */
export function allowsHost({ mx }: TlsPolicy, host: string): boolean {
  if (mx === undefined) return true;
  const name = host.toLowerCase();
  return mx.some((pattern) => {
    const wantedHost = pattern.toLowerCase().replace(/\.$/, "");
    return wantedHost.startsWith("*.")
      ? name.slice(name.indexOf(".")) === wantedHost.slice(1) && name.includes(".")
      : name === wantedHost;
  });
}
