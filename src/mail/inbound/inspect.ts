import { messageOf, type Log } from "../../kernel/index.ts";
import { fieldRanges } from "../../protocol/rfc5322/index.ts";
import { formatField, withHeader, type Envelope, type MailSource, type SmtpReply } from "../messages/index.ts";
import type { ContentFilter } from "./types.ts";

/**
 * Passes a message to the content filter. A failing filter does not reject mail: the message is accepted, and the
 * failure is logged.
 */
export function createInspection({ filter, log }: { filter: ContentFilter | undefined; log: Log }) {
  return async (envelope: Envelope, source: MailSource): Promise<{ source: MailSource; refused?: SmtpReply }> => {
    if (filter === undefined) return { source };
    try {
      const verdict = await filter.check(envelope, source);
      if (verdict.action === "refuse") {
        log.info(
          { message: source.id, ip: envelope.ip, from: envelope.from, reply: verdict.reply },
          "smtp: message rejected by the content filter",
        );
        return { source, refused: verdict.reply };
      }
      return { source: verdict.action === "tag" ? withTags(source, verdict.fields) : source };
    } catch (err) {
      log.warn(
        { message: source.id, reason: messageOf(err) },
        "smtp: content filter unavailable; message accepted without it",
      );
      return { source };
    }
  };
}

/**
 * Returns the message with these fields on top, without existing fields of the same names: only the filter may set
 * them.
 */
function withTags(source: MailSource, fields: { name: string; value: string }[]): MailSource {
  const names = new Set(fields.map(({ name }) => name.toLowerCase()));
  const tagFields: Uint8Array[] = fields.map(({ name, value }) => Buffer.from(formatField(name, value)));
  for (const [start, end] of fieldRanges(source.headerBlock)) {
    const field = source.headerBlock.subarray(start, end);
    const [, name = ""] =
      /^([^:\s]+)[ \t]*:/.exec(
        Buffer.from(field.buffer, field.byteOffset, Math.min(field.length, 200)).toString("latin1"),
      ) ?? [];
    if (!names.has(name.toLowerCase())) tagFields.push(field);
  }
  return withHeader(source, Buffer.concat(tagFields));
}
