import type { IncomingMessage } from "node:http";

/**
 * Returns a name that distinguishes the viewers of a video. Behind one IP address, players are distinguished by their
 * session id (CTA-5004, `sid`), others by their user agent.
 */
export function viewerName(ip: string, { headers, url = "" }: Pick<IncomingMessage, "headers" | "url">): string {
  const cmcdSession =
    headers["cmcd-session"] ??
    (url.includes("CMCD=") ? new URL(url, "http://localhost").searchParams.get("CMCD") : undefined);
  const session =
    cmcdSession === undefined ? undefined : /(?:^|,)\s*sid="([^"]{1,64})"/.exec(String(cmcdSession ?? ""))?.[1];
  return `${ip}\n${session ?? headers["user-agent"] ?? ""}`;
}
