import type { TlsLevel, TlsPolicy } from "../types.ts";

/** Whether a policy lets mail go to this host: RFC 8461 4.1, where "*." stands for one label and no more. */
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

/** How nodemailer is told. A certificate counts only where somebody asked for it: refusing one for mail that may go in plain text would protect nobody. */
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
