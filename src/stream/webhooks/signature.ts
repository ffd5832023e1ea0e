import { createHmac } from "node:crypto";

/** `Webhook-Signature`: HMAC-SHA256 over the time, a dot, and the body as it is sent. `at`: epoch milliseconds; the header has seconds. */
export function signatureOf(secret: string, body: string, at: number): string {
  const time = Math.floor(at / 1000);
  return `time=${time},sig1=${createHmac("sha256", secret).update(`${time}.${body}`).digest("hex")}`;
}
