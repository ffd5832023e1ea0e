import type { TlsLevel, TlsPolicy } from "../types.ts";

/** True if a policy allows mail to this host: RFC 8461 4.1, where "*." matches exactly one label. */
export function allowsHost({ mx }: TlsPolicy, host: string): boolean {
  if (mx === undefined) return true;
  const name = host.toLowerCase();
  return mx.some((pattern) => {
    const wanted = pattern.toLowerCase().replace(/\.$/, "");
    return wanted.startsWith("*.")
      ? name.slice(name.indexOf(".")) === wanted.slice(1) && name.includes(".")
      : name === wanted;
  });
}

/**
 * The nodemailer options. The certificate is verified only if the policy requires it: rejecting one for mail that may
 * go in plain text would protect no one.
 */
export function startTlsOptions(level: TlsLevel): {
  ignoreTLS?: boolean;
  requireTLS?: boolean;
  opportunisticTLS?: boolean;
} {
  switch (level) {
    case "none":
      return { ignoreTLS: true };
    case "opportunistic":
      return { opportunisticTLS: true };
    default:
      return { requireTLS: true };
  }
}
