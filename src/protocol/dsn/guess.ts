import {
  headerValue,
  headerValues,
  parseAddress,
  parseAddressList,
  parseMessageId,
  type HeaderField,
} from "../rfc5322/index.ts";
import type { Bounce, BouncedRecipient } from "./bounce-types.ts";
import type { Part } from "./mime-parts.ts";

/**
 * Parses bounces that are not RFC 3464 reports, such as those from qmail and its descendants, Exim, and appliances.
 * Reads only messages that look like server-generated bounces and only the beginning of the text, and extracts only a
 * few recipients.
 */
const MAX_TEXT_BYTES = 32 * 1024;
const MAX_LINES = 400;
const MAX_LINE_LENGTH = 1000;
const MAX_GUESSED = 20;
/** Maximum number of lines between a code and its address. */
const NEAR_LINES = 4;

export function guessBounce(fields: HeaderField[], leaves: Part[]): Bounce | undefined {
  if (!looksLikeBounce(fields)) return undefined;
  const body = (leaves.find(({ type }) => type === "text/plain") ?? leaves[0])?.body ?? Buffer.alloc(0);
  const lines = body
    .toString("latin1", 0, MAX_TEXT_BYTES)
    .split(/\r?\n/, MAX_LINES)
    .map((line) => line.slice(0, MAX_LINE_LENGTH));
  const markerIndex = lines.findIndex((line) => ORIGINAL_MESSAGE_MARKER.test(line));
  const reportedLines = markerIndex === -1 ? lines : lines.slice(0, markerIndex);
  const recipients = failedRecipients(fields, reportedLines);
  if (recipients.length === 0) return undefined;
  const messageId = lines.map((line) => /^Message-ID:(.*)$/i.exec(line)?.[1]).find((value) => value !== undefined);
  const id = messageId === undefined ? undefined : parseMessageId(messageId);
  return { kind: "guess", ...(id === undefined ? {} : { messageId: id }), recipients };
}

const SERVER_NAMES = /^(?:mailer-daemon|postmaster|mail-daemon|maildaemon|mdaemon)$/i;
const BOUNCE_SUBJECTS =
  /\b(?:undeliver(?:able|ed)|delivery (?:status notification|failure|has failed|failed)|failure notice|returned mail|mail delivery (?:failed|subsystem|error)|could not be delivered|delivery error|nondeliverable)\b/i;
const ORIGINAL_MESSAGE_MARKER =
  /^-{2,}\s*(?:below this line is a copy|this is a copy of|original message|the following message)/i;

function looksLikeBounce(fields: HeaderField[]): boolean {
  if (headerValue(fields, "x-failed-recipients") !== undefined) return true;
  // The null sender also sends autoreplies.
  if (
    /^auto-generated\b/i.test(headerValue(fields, "auto-submitted") ?? "") &&
    headerValue(fields, "x-autoreply") !== undefined
  )
    return false;
  const [from] = parseAddressList(headerValue(fields, "from") ?? "") ?? [];
  const subject = (headerValue(fields, "subject") ?? "").slice(0, MAX_LINE_LENGTH);
  return (from !== undefined && SERVER_NAMES.test(from.local)) || BOUNCE_SUBJECTS.test(subject);
}

function failedRecipients(fields: HeaderField[], lines: string[]): BouncedRecipient[] {
  // Exim and Google list the recipients in a header field.
  const namedRecipients = headerValues(fields, "x-failed-recipients")
    .flatMap((value) => parseAddressList(value.slice(0, 10_000)) ?? [])
    .map(({ address }) => address);
  const foundRecipients = new Map<string, BouncedRecipient>();
  for (const [at, line] of lines.entries()) {
    const address = addressInLine(line);
    if (
      address === undefined ||
      foundRecipients.has(address) ||
      (namedRecipients.length > 0 && !namedRecipients.includes(address))
    )
      continue;
    const reason = reasonNearLine(lines, at);
    if (reason !== undefined && foundRecipients.size < MAX_GUESSED)
      foundRecipients.set(address, { address, ...reason });
  }
  for (const address of namedRecipients.slice(0, MAX_GUESSED))
    if (!foundRecipients.has(address)) foundRecipients.set(address, { address, action: "failed", status: "5.0.0" });
  return [...foundRecipients.values()].slice(0, MAX_GUESSED);
}

/** Matches lines about one address, such as `<a@b>:`, `a@b`, `  a@b: ...`, but not passing mentions. */
function addressInLine(line: string): string | undefined {
  const [, bracketedAddress, bareAddress] =
    /^[ \t>*]{0,8}(?:<([^<>\s]{3,254})>|([^<>\s:;,()]{3,254}@[A-Za-z0-9.-]{1,253}))[ \t]*(?::|$|\(|;|\s-\s)/.exec(
      line,
    ) ?? [];
  return parseAddress(bracketedAddress ?? bareAddress ?? "")?.address;
}

/** Returns the first server reply on or below the line, before the next address. */
function reasonNearLine(
  lines: string[],
  at: number,
): Pick<BouncedRecipient, "action" | "status" | "diagnostic"> | undefined {
  for (let i = at; i < Math.min(lines.length, at + NEAR_LINES + 1); i++) {
    const line = lines[i]!;
    if (i > at && addressInLine(line) !== undefined) return undefined;
    const enhanced = /(?:^|[\s#(:])([45]\.\d{1,3}\.\d{1,3})(?=$|[\s):,;.#])/.exec(line)?.[1];
    const code = /(?:^|[\s:(])([45]\d\d)(?=[\s\-:)]|$)/.exec(line)?.[1];
    const hint = HINTS.find(([words]) => words.test(line))?.[1];
    const status = enhanced ?? hint ?? (code === undefined ? undefined : `${code[0]}.0.0`);
    if (status !== undefined)
      return { action: status.startsWith("4") ? "delayed" : "failed", status, diagnostic: line.trim() };
  }
  return undefined;
}

const HINTS: [RegExp, string][] = [
  [
    /\b(?:user|recipient|mailbox|address) (?:unknown|not found|does not exist|unavailable)\b|\bno such (?:user|mailbox|recipient|address)\b|\bunknown (?:user|recipient)\b|\bunrouteable address\b|\bno mailbox here\b/i,
    "5.1.1",
  ],
  [/\b(?:mailbox|quota) (?:is )?(?:full|exceeded)\b|\bover ?quota\b/i, "5.2.2"],
  [/\b(?:host|domain) (?:unknown|not found)\b|\bcouldn't find any host\b/i, "5.1.2"],
];
