import { rfc5322Date } from "../rfc5322/index.ts";

/** Contents of the Received field of an accepted message (RFC 5321 4.4). */
interface ReceivedOptions {
  helo: string;
  ip: string;
  /** This server's host name. */
  by: string;
  /** Protocol: "ESMTP", "ESMTPS", "UTF8SMTP" ... (RFC 3848, RFC 6531). */
  protocol: string;
  id: string;
  /** TLS version and cipher, such as "TLSv1.3 TLS_AES_256_GCM_SHA384"; absent without TLS. */
  tls?: string | undefined;
  /** Only set for a single recipient: recipients must not see each other's addresses. */
  recipient?: string;
  at: Date;
}

/** Returns the folded field with its line ending. */
export function receivedField({ helo, ip, by, protocol, id, tls, recipient, at }: ReceivedOptions): string {
  const forClause = recipient === undefined ? "" : `\r\n\tfor <${toHarmless(recipient)}>`;
  const tlsComment = tls === undefined ? "" : `\r\n\t(${tls.split(" ").map(toHarmless).join(" ")})`;
  return `Received: from ${toHarmless(helo) || "unknown"} (${addressLiteral(ip)})\r\n\tby ${toHarmless(by)} with ${protocol} id ${id}${tlsComment}${forClause};\r\n\t${rfc5322Date(at)}\r\n`;
}

/** The client chooses this text, which must not end the clause, open a comment or start a line. */
const toHarmless = (text: string) => text.replace(/[^A-Za-z0-9.:@_+=\-[\]\u00a0-\uffff]/g, "?").slice(0, 300);

const addressLiteral = (ip: string) => (ip.includes(":") ? `[IPv6:${toHarmless(ip)}]` : `[${toHarmless(ip)}]`);
