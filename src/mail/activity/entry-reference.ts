import { hash } from "node:crypto";
import type { TraceEvent } from "../messages/index.ts";
import { cleanText } from "./text.ts";
import type { EntryKind } from "./types.ts";

/** The message and the recipients that an event refers to. */
export interface EntryReference {
  kind: EntryKind;
  message: string;
  /** The recipients that the event refers to; undefined means all recipients of the message. */
  rcpts: string[] | undefined;
}

const MAX_RCPTS = 1000;

/**
 * Returns the entry an event belongs to. A received message keeps one id throughout. A submitted message is identified
 * by its Message-ID, because its internal id differs between steps.
 */
export function entryReferenceOf({ message, step, rcpt, detail }: TraceEvent): EntryReference {
  const { messageId, outbound, to } = detail;
  const isOwnId =
    typeof messageId === "string" &&
    (step === "sent" || message === messageId || message === outbound || detail["cause"] === "send" || "via" in detail);
  const kind = isOwnId || message.startsWith("<") ? "sending" : "routing";
  if (kind === "sending")
    return { kind, message: cleanText(isOwnId ? messageId : message, 998), rcpts: listOf(rcpt) ?? listOf(to) };
  // A delivery report is logged with the recipients it names. Its own delivery is logged without recipients.
  if (step === "replied" && detail["report"] !== undefined && rcpt === undefined)
    return { kind, message, rcpts: listOf(detail["recipients"]) ?? [] };
  if (detail["cause"] === "reply" && rcpt === undefined) return { kind, message, rcpts: [] };
  // The recipient list of a message that was received or rejected as a whole; for a single copy, `to` is its
  // destination.
  return {
    kind,
    message,
    rcpts:
      listOf(rcpt) ??
      (step === "received" || step === "rejected" || step === "deferred"
        ? listOf(Array.isArray(to) ? to : undefined)
        : undefined),
  };
}

/** Returns the entry of a worker's reply: a separate message to the sender of the original. */
export function replyReferenceOf({ step, detail }: TraceEvent): EntryReference | undefined {
  const { messageId, cause, to } = detail;
  if (typeof messageId !== "string" || !(step === "replied" || cause === "reply")) return undefined;
  const rcpts = listOf(to);
  return rcpts && { kind: "sending", message: cleanText(messageId, 998), rcpts };
}

function listOf(value: unknown): string[] | undefined {
  if (typeof value === "string" && value !== "") return [value];
  if (!Array.isArray(value) || value.length === 0) return undefined;
  return value.filter((item): item is string => typeof item === "string").slice(0, MAX_RCPTS);
}

/**
 * An entry id starts with a hash of the message and ends with a hash of the recipient, so the entries of one message
 * are adjacent in the only index.
 */
export const entryId = (kind: EntryKind, message: string, rcpt: string): string =>
  messagePrefix(kind, message) + hash("sha256", rcptKey(rcpt), "hex").slice(0, 10);

export const messagePrefix = (kind: EntryKind, message: string): string =>
  hash("sha256", `${kind}\n${message}`, "hex").slice(0, 22);

/** Normalizes a recipient: the queue stores domains in lower case. */
export const rcptKey = (rcpt: string): string => rcpt.toLowerCase();

/** Returns the twelve-character id prefix shared by the recipients of one message. */
export const sessionOf = ({ id }: { id: string }): string => id.slice(0, 12);
