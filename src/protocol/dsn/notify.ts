import type { MailRequest, RecipientRequest } from "./params.ts";
import type { DsnAction } from "./report.ts";

/**
 * Returns true if the sender requested a notification (RFC 3461 4.1, 5.2). Always false for the null sender (RFC 5321
 * 4.5.5), since bounces of bounces would loop. Without NOTIFY, failures are reported, and delays if `delays` is true
 * (the default).
 */
export function isNotified(
  sender: string,
  action: DsnAction,
  { notify }: RecipientRequest = {},
  { delays = true } = {},
): boolean {
  if (sender === "") return false;
  if (action === "failed") return notify?.includes("FAILURE") ?? true;
  if (action === "delayed") return notify?.includes("DELAY") ?? delays;
  return notify?.includes("SUCCESS") ?? false;
}

/**
 * Returns how much of the message is returned (RFC 3461 4.3): the whole message only on failure, if requested, and if
 * not larger than `maxBytes`.
 */
export const returnedPart = (
  action: DsnAction,
  { ret }: MailRequest,
  size: number,
  maxBytes: number,
): "full" | "headers" => (action === "failed" && ret === "FULL" && size <= maxBytes ? "full" : "headers");
