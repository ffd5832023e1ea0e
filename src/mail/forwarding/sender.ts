import type { Clock } from "../../kernel/index.ts";
import type { Srs } from "../../protocol/srs/index.ts";
import type { Bounces } from "../bounces/index.ts";
import type { ForwardRequest } from "./types.ts";
import { isAuthenticatedSender } from "./sender-authenticated.ts";

export interface ForwardSenderDeps {
  srs: Pick<Srs, "forward" | "isOurs">;
  bounces: Pick<Bounces, "pathFor">;
  clock: Pick<Clock, "now">;
}

/**
 * Returns the envelope sender of a forward. It encodes an authenticated sender if that fits. Bounces must not reach an
 * unauthenticated sender's address, so a token is used instead. The null sender stays null (RFC 5321 4.5.5).
 */
export async function forwardingSender(
  { envelope, verdict, source, rcpt, account, zone }: ForwardRequest,
  { srs, bounces, clock }: ForwardSenderDeps,
): Promise<{ from: string; senderAuthenticated: boolean }> {
  const { from: sender } = envelope;
  if (sender === "") return { from: "", senderAuthenticated: false };
  const senderAuthenticated = isAuthenticatedSender(envelope, verdict);
  // A local return path that came back: it is already signed, so it is kept unchanged.
  const rewrittenSender = senderAuthenticated || srs.isOurs(sender) ? srs.forward(sender, clock.now()) : undefined;
  if (rewrittenSender?.ok) return { from: rewrittenSender.address, senderAuthenticated };
  return {
    from: await bounces.pathFor({ sender, senderAuthenticated, account, zone, inbound: { id: source.id, rcpt } }),
    senderAuthenticated,
  };
}
