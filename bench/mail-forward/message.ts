import { generateKeyPairSync } from "node:crypto";
import { systemClock } from "../../src/kernel/index.ts";
import { createSigner } from "../../src/mail/authenticate/index.ts";
import type { MailSource } from "../../src/mail/messages/index.ts";

interface SignedMessage {
  octets: Buffer;
  /** The TXT record at `<selector>._domainkey.<domain>`. */
  record: string;
}

/** Resolves with a message of the given size, signed with a 2048-bit RSA key. */
export async function signedMessage({
  domain,
  selector,
  to,
  size,
}: {
  domain: string;
  selector: string;
  to: string;
  size: number;
}): Promise<SignedMessage> {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const head = [
    `From: Ada <ada@${domain}>`,
    `To: <${to}>`,
    "Subject: A message like many",
    `Date: ${new Date().toUTCString().replace("GMT", "+0000")}`,
    `Message-ID: <${"a".repeat(32)}@${domain}>`,
    "MIME-Version: 1.0",
    "Content-Type: text/plain; charset=utf-8",
  ].join("\r\n");
  const line = "The quick brown fox jumps over the lazy dog, and comes back again.\r\n";
  const body = line.repeat(Math.ceil((size - head.length) / line.length));
  const unsigned = Buffer.from(`${head}\r\n\r\n${body}`);
  const key = {
    domain,
    selector,
    algorithm: "rsa" as const,
    privateKey: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
  };
  const signature = await createSigner({ clock: systemClock }).sign(sourceOf(unsigned), { dkim: [key] });
  return {
    octets: Buffer.concat([Buffer.from(signature), unsigned]),
    record: `v=DKIM1; k=rsa; p=${publicKey.export({ type: "spki", format: "der" }).toString("base64")}`,
  };
}

/** Returns a message in memory as the source that a signer and an authenticator read. */
export const sourceOf = (octets: Buffer): MailSource => ({
  id: "bench",
  size: octets.length,
  headerBlock: octets.subarray(0, octets.indexOf("\r\n\r\n") + 2),
  open: (start = 0) => octets.subarray(start),
  discard: async () => {},
});
