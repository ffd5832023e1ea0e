import { generateKeyPairSync } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomIds, type Clock } from "../../kernel/index.ts";
import { createSpool, type MailSource } from "../messages/index.ts";
import type { PemSigningKey } from "./sign.ts";

/** Helpers for the authentication tests. */

const NOW = Date.UTC(2026, 0, 5, 7, 8, 9);
export const clock: Clock = {
  now: () => NOW,
  sleep: (_, signal) =>
    new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason), { once: true })),
};
export const PEER = "192.0.2.10";

const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const ed25519 = generateKeyPairSync("ed25519");

export const keyOf = (domain: string, type: "rsa" | "ed25519" = "rsa"): PemSigningKey => ({
  domain,
  selector: type,
  privateKey: (type === "rsa" ? rsa : ed25519).privateKey.export({ format: "pem", type: "pkcs8" }) as string,
});

/** Returns the TXT record of a key. A long one is split into two strings, as in zone files. */
export function recordOf({ domain, selector }: PemSigningKey): Record<string, unknown[]> {
  const der = (selector === "rsa" ? rsa : ed25519).publicKey.export({ format: "der", type: "spki" });
  const text = `v=DKIM1; k=${selector}; p=${(selector === "rsa" ? der : der.subarray(-32)).toString("base64")}`;
  return { [`${selector}._domainkey.${domain} TXT`]: [[text.slice(0, 200), text.slice(200)]] };
}

const held = createSpool({ dir: join(tmpdir(), "reelpost-never-made"), ids: randomIds });

/** Returns a message in memory; line feeds are converted to CRLF. */
export const mail = (text: string): MailSource => held.fromMemory(Buffer.from(text.replace(/\r?\n/g, "\r\n"), "utf8"));

export async function textOf(source: Pick<MailSource, "open">, start = 0): Promise<string> {
  const body = source.open(start);
  return (body instanceof Uint8Array ? Buffer.from(body) : Buffer.concat(await body.toArray())).toString("utf8");
}
