const OLDEST_SECONDS = 300;

/** Returns the reason a notification is not authentic, or undefined if it is recent and was sent by the server. */
export async function disbelieve(
  body: string,
  signature: string | null,
  secret: string | undefined,
): Promise<string | undefined> {
  if (secret === undefined) return "WEBHOOK_SECRET is not set";
  const [, time, sig1] = /^time=(\d{1,12}),sig1=([0-9a-f]{64})$/.exec(signature ?? "") ?? [];
  if (time === undefined || sig1 === undefined) return "no Webhook-Signature";
  // Otherwise a captured notification could be replayed forever.
  if (Math.abs(Date.now() / 1000 - Number(time)) > OLDEST_SECONDS) return "the signature is too old";
  const key = await crypto.subtle.importKey(
    "raw",
    new TextEncoder().encode(secret),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["verify"],
  );
  const octets = Uint8Array.from(sig1.match(/../g)!, (pair) => Number.parseInt(pair, 16));
  return (await crypto.subtle.verify("HMAC", key, octets, new TextEncoder().encode(`${time}.${body}`)))
    ? undefined
    : "the signature is wrong";
}
