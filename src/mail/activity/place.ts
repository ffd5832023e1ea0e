import { hash } from "node:crypto";
import type { TraceEvent } from "../messages/index.ts";
import { cleanText } from "./text.ts";
import type { EntryKind } from "./types.ts";

/** Which message an event tells of, and to whom. */
export interface Place {
  kind: EntryKind;
  message: string;
  /** The recipients it tells of; undefined is everyone of the message. */
  rcpts: string[] | undefined;
}

const MAX_RCPTS = 1000;

/**
 * Where an event belongs. A message that came in is known by its id from end to end. One that we were given to send is known by its Message-ID:
 * the id it has on its way differs from step to step.
 */
export function placeOf({ message, step, rcpt, detail }: TraceEvent): Place {
  const { messageId, outbound, to } = detail;
  const ours =
    typeof messageId === "string" &&
    (step === "sent" || message === messageId || message === outbound || detail["cause"] === "send" || "via" in detail);
  const kind = ours || message.startsWith("<") ? "sending" : "routing";
  if (kind === "sending")
    return { kind, message: cleanText(ours ? messageId : message, 998), rcpts: listOf(rcpt) ?? listOf(to) };
  // A delivery report is logged with the recipients it names. Its own delivery is logged without recipients.
  if (step === "replied" && detail["report"] !== undefined && rcpt === undefined)
    return { kind, message, rcpts: listOf(detail["recipients"]) ?? [] };
  if (detail["cause"] === "reply" && rcpt === undefined) return { kind, message, rcpts: [] };
  // The list of a message that was received or refused as a whole; `to` of a single copy is where it goes.
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

/** The entry of the answer that a worker gave: mail of its own, to the sender of what it answers. */
export function placeOfReply({ step, detail }: TraceEvent): Place | undefined {
  const { messageId, cause, to } = detail;
  if (typeof messageId !== "string" || !(step === "replied" || cause === "reply")) return undefined;
  const rcpts = listOf(to);
  return rcpts && { kind: "sending", message: cleanText(messageId, 998), rcpts };
}

function listOf(value: unknown): string[] | undefined {
  if (typeof value === "string" && value !== "") return [value];
  if (!Array.isArray(value) || value.length === 0) return undefined;
  return value.filter((one): one is string => typeof one === "string").slice(0, MAX_RCPTS);
}

/**
 * The id of an entry begins with what stands for the message and ends with what stands for the recipient: the entries of one message lie
 * side by side in the one index there is.
 */
export const entryId = (kind: EntryKind, message: string, rcpt: string): string =>
  messagePrefix(kind, message) + hash("sha256", rcptKey(rcpt), "hex").slice(0, 10);

export const messagePrefix = (kind: EntryKind, message: string): string =>
  hash("sha256", `${kind}\n${message}`, "hex").slice(0, 22);

/** What two spellings of one recipient share: the queue writes domains in lower case. */
export const rcptKey = (rcpt: string): string => rcpt.toLowerCase();

/** Twelve characters that the recipients of one message share: the beginning of their ids. */
export const sessionOf = ({ id }: { id: string }): string => id.slice(0, 12);
