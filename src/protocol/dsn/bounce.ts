import {
  headerValue,
  headerValues,
  parseAddress,
  parseMessageId,
  readHeader,
  type HeaderField,
} from "../rfc5322/index.ts";
import type { Bounce, BouncedRecipient } from "./bounce-types.ts";
import { guessBounce } from "./guess.ts";
import type { DsnAction } from "./report.ts";
import { readParts, type Part } from "./mime-parts.ts";
import { decodeUtf8Address } from "./xtext.ts";

/** For longer messages, only the beginning is read: the machine-readable part precedes the returned message. */
export const MAX_BOUNCE_BYTES = 256 * 1024;
const MAX_RECIPIENTS = 100;
const GROUP_LIMITS = { maxBytes: 16 * 1024, maxFields: 100 };

/**
 * Reads a bounce or another delivery report. Undefined for any other message, including autoreplies. The caller must
 * check that it is trustworthy: sent from the null sender to a return path that only this server could have generated.
 */
export function readBounce(message: Uint8Array): Bounce | undefined {
  const bytes = Buffer.from(message.buffer, message.byteOffset, Math.min(message.length, MAX_BOUNCE_BYTES));
  const { fields, leaves } = readParts(bytes);
  const status = leaves.find(
    ({ type }) => type === "message/delivery-status" || type === "message/global-delivery-status",
  );
  const report = status && readStatus(status.body);
  if (report === undefined) return guessBounce(fields, leaves);
  const messageId = returnedMessageId(leaves);
  return { kind: "report", ...report, ...(messageId === undefined ? {} : { messageId }) };
}

/** RFC 3464 2.1: one group of fields for the message, then one for each recipient, separated by empty lines. */
function readStatus(body: Buffer): Pick<Bounce, "reportingMta" | "envelopeId" | "recipients"> | undefined {
  const groups = groupsOf(body);
  const recipients = groups.flatMap((fields) => readRecipient(fields) ?? []).slice(0, MAX_RECIPIENTS);
  if (recipients.length === 0) return undefined;
  const [envelopeId] = fieldTexts(groups, "original-envelope-id");
  const [reportingMta] = fieldTexts(groups, "reporting-mta").map(afterType);
  return { ...(reportingMta ? { reportingMta } : {}), ...(envelopeId ? { envelopeId } : {}), recipients };
}

const fieldTexts = (groups: HeaderField[][], name: string) => groups.flatMap((fields) => headerValues(fields, name));

function groupsOf(body: Buffer): HeaderField[][] {
  const texts = body.toString("latin1").split(/\r?\n[ \t]*\r?\n/, MAX_RECIPIENTS * 2);
  return texts.flatMap((text) => {
    const reading = readHeader(Buffer.from(`${text.replace(/^(?:[ \t]*\r?\n)+/, "")}\r\n`, "latin1"), GROUP_LIMITS);
    return reading.ok && reading.fields.length > 0 ? [reading.fields] : [];
  });
}

function readRecipient(fields: HeaderField[]): BouncedRecipient | undefined {
  const address =
    addressOf(headerValue(fields, "final-recipient")) ?? addressOf(headerValue(fields, "original-recipient"));
  const status = /\b([245]\.\d{1,3}\.\d{1,3})\b/.exec(headerValue(fields, "status") ?? "")?.[1];
  const action = actionOf(headerValue(fields, "action"), status);
  if (address === undefined || action === undefined) return undefined;
  const original = addressOf(headerValue(fields, "original-recipient"));
  const diagnostic = headerValue(fields, "diagnostic-code");
  const remoteMta = headerValue(fields, "remote-mta");
  return {
    address,
    ...(original === undefined || original === address ? {} : { original }),
    action,
    status: status ?? CLASS_STATUS[action],
    ...(diagnostic ? { diagnostic: afterType(diagnostic).slice(0, 1000) } : {}),
    ...(remoteMta ? { remoteMta: afterType(remoteMta) } : {}),
  };
}

const CLASS_STATUS: Record<DsnAction, string> = {
  failed: "5.0.0",
  delayed: "4.0.0",
  delivered: "2.0.0",
  relayed: "2.0.0",
  expanded: "2.0.0",
};
const ACTIONS = Object.keys(CLASS_STATUS) as DsnAction[];

/** Some servers append comments, write "failure" instead of "failed", or leave the field empty. */
function actionOf(value: string | undefined, status: string | undefined): DsnAction | undefined {
  const word = /^[a-z]+/.exec(value?.trim().toLowerCase() ?? "")?.[0];
  if (word === "failure") return "failed";
  return (
    ACTIONS.find((action) => action === word) ??
    ({ "5": "failed", "4": "delayed", "2": "delivered" } as const)[status?.[0] ?? ""]
  );
}

/** Reads `rfc822; a@b`, `utf-8; \x{E4}@b` or `a@b`, with or without brackets. */
function addressOf(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  const text = decodeUtf8Address(afterType(value)).replace(/^<(.*)>$/, "$1");
  return parseAddress(text)?.address;
}

const afterType = (value: string) =>
  /^[A-Za-z0-9-]+[ \t]*;[ \t]*(.*)$/s.exec(value.trim())?.[1]?.trim() ?? value.trim();

const RETURNED = new Set(["message/rfc822", "text/rfc822-headers", "message/global", "message/global-headers"]);

function returnedMessageId(parts: Part[]): string | undefined {
  const returnedPart = parts.find(({ type }) => RETURNED.has(type));
  if (returnedPart === undefined) return undefined;
  const end = returnedPart.body.indexOf("\r\n\r\n");
  const reading = readHeader(
    returnedPart.body.subarray(0, Math.min(end === -1 ? returnedPart.body.length : end, 64 * 1024)),
    {
      maxBytes: 64 * 1024,
      maxFields: 2000,
    },
  );
  return reading.ok ? parseMessageId(headerValue(reading.fields, "message-id") ?? "") : undefined;
}
