import { readFile } from "node:fs/promises";
import type { DevServer } from "../server/index.ts";
import type { BuiltEmail, EmailResult } from "./api.ts";
import { toLogLine } from "./events.ts";
import { wireMessage } from "./wire-message.ts";

/** A message for a worker: raw in base64, or a message to compose, whose attachments are in base64. */
type EmailParams = { worker?: string | undefined; from: string; to: string } & (
  | { raw: string }
  | { built: BuiltEmail }
);

/** Passes a message to a worker and resolves with everything that it did. */
export async function passEmail(control: DevServer["control"], params: EmailParams): Promise<EmailResult> {
  const { worker } = params;
  const mail =
    "raw" in params
      ? { from: params.from, to: params.to, raw: Buffer.from(params.raw, "base64") }
      : await composed(control, params.built);
  const { id, handled, event } = await control.email({ worker, ...mail });
  const { outcome, rejectReason, forwards, replies, events } = handled;
  const exception = event?.exceptions[0] ?? handled.exception;
  const sent = (event?.actions ?? []).filter(({ action }) => action === "send");
  return {
    id,
    outcome: outcome === "ok" ? "ok" : "exception",
    ...(rejectReason !== undefined && { rejectReason }),
    forwards,
    replies: replies.map(({ messageId, sender, raw }) => ({ messageId, sender, ...wireMessage(raw!) })),
    sent: await Promise.all(
      sent.map(async ({ messageId, from, to, files }) => ({
        messageId,
        from,
        to,
        ...wireMessage(await readFile(files[0]!)),
      })),
    ),
    events,
    logs: (event?.logs ?? []).map((line) => toLogLine(line, event!.worker)),
    ...(exception !== undefined && { exception }),
    warnings: event?.warnings ?? [],
  };
}

async function composed(control: DevServer["control"], { subject = "", text, ...mail }: BuiltEmail) {
  const isEmpty = mail.html === undefined && mail.attachments === undefined;
  const { from, to, raw } = await control.compose({
    ...mail,
    subject,
    ...((text !== undefined || isEmpty) && { text: text ?? "" }),
  });
  return { from, to: to[0]!, raw };
}
