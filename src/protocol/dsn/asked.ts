import type { MailRequest, RecipientRequest } from "./params.ts";
import type { Action } from "./report.ts";

/**
 * Whether the sender is to be told (RFC 3461 4.1, 5.2). Nobody is told about mail from the null sender (RFC 5321 4.5.5): a bounce of a bounce
 * would go round for ever. Without NOTIFY failures are told, and delays where `delays` says so (default true).
 */
export function isTold(
  sender: string,
  action: Action,
  { notify }: RecipientRequest = {},
  { delays = true } = {},
): boolean {
  if (sender === "") return false;
  if (action === "failed") return notify?.includes("FAILURE") ?? true;
  if (action === "delayed") return notify?.includes("DELAY") ?? delays;
  return notify?.includes("SUCCESS") ?? false;
}

/** How much of the message goes back (RFC 3461 4.3): all of it only when something failed, was asked for, and is no more than `maxBytes`. */
export const returnedPart = (
  action: Action,
  { ret }: MailRequest,
  size: number,
  maxBytes: number,
): "full" | "headers" => (action === "failed" && ret === "FULL" && size <= maxBytes ? "full" : "headers");
