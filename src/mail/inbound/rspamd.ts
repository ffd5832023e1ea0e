import { Readable } from "node:stream";
import { z } from "zod";
import { closeStream, type Envelope, type MailSource, type SmtpReply } from "../messages/index.ts";
import type { ContentFilter, FilterVerdict } from "./types.ts";

interface RspamdOptions {
  /** For example, "http://127.0.0.1:11333". */
  url: string;
  /** Milliseconds to wait for a response. Default 15000. */
  timeoutMs?: number;
}

/** The fields used from a response. */
const answerSchema = z.object({
  action: z.string(),
  score: z.number().optional(),
  required_score: z.number().optional(),
  messages: z.object({ smtp_message: z.string().optional() }).optional(),
});

/** A response contains symbols and addresses, usually a few kilobytes. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/** Queries rspamd (its HTTP protocol, `/checkv2`). Rejects if the response is not usable. */
export function createRspamd({ url, timeoutMs = 15_000 }: RspamdOptions): ContentFilter {
  const target = new URL("checkv2", url.endsWith("/") ? url : `${url}/`);

  return {
    async check(envelope, source) {
      const raw = source.open();
      try {
        const response = await fetch(target, {
          method: "POST",
          headers: headersOf(envelope, source),
          body: bodyOf(raw),
          duplex: "half",
          redirect: "error",
          signal: AbortSignal.timeout(timeoutMs),
        });
        const text = await textOf(response);
        if (response.status !== 200) throw new Error(`rspamd responded with status ${response.status}`);
        return verdictOf(answerSchema.parse(JSON.parse(text)));
      } finally {
        // fetch() does not close the request body when rspamd cannot be reached.
        closeStream(raw);
      }
    },
  };
}

function bodyOf(body: Readable | Uint8Array): NonNullable<RequestInit["body"]> {
  return body instanceof Uint8Array
    ? (body as Uint8Array<ArrayBuffer>)
    : (Readable.toWeb(body) as ReadableStream<Uint8Array<ArrayBuffer>>);
}

/** The text comes from the client, and an HTTP header holds only one line of Latin-1. */
const toPrintable = (text: string) => text.replace(/[^!-~]/g, "?").slice(0, 500);

function headersOf({ ip, helo, from, to }: Envelope, { id }: MailSource): Headers {
  const headers = new Headers({
    IP: toPrintable(ip),
    Helo: toPrintable(helo),
    From: toPrintable(from),
    "Queue-Id": id,
  });
  // fetch() joins the values with commas, and rspamd splits them again.
  for (const rcpt of to) headers.append("Rcpt", toPrintable(rcpt));
  return headers;
}

async function textOf(response: Response): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.length > MAX_ANSWER_BYTES)
      throw new Error(`the response of rspamd exceeds ${MAX_ANSWER_BYTES} characters`);
  }
  return text;
}

function verdictOf({
  action,
  score,
  required_score: required,
  messages,
}: z.output<typeof answerSchema>): FilterVerdict {
  const smtpMessage = messages?.smtp_message
    ?.replace(/[^ -~]+/g, " ")
    .trim()
    .slice(0, 400);
  switch (action) {
    case "reject":
      return refuse(554, "5.7.1", smtpMessage || "Message is spam");
    case "soft reject":
      return refuse(451, "4.7.1", smtpMessage || "Message temporarily rejected, try again later");
    case "greylist":
      return refuse(451, "4.7.1", smtpMessage || "Greylisted, try again later");
    // The subject is signed by the sender, so the result is in a separate field.
    case "add header":
    case "rewrite subject":
      return {
        action: "tag",
        fields: [
          { name: "X-Spam-Flag", value: "YES" },
          ...(score === undefined
            ? []
            : [
                {
                  name: "X-Spam-Score",
                  value: required === undefined ? score.toFixed(2) : `${score.toFixed(2)} / ${required.toFixed(2)}`,
                },
              ]),
        ],
      };
    default:
      return { action: "accept" };
  }
}

const refuse = (code: number, enhanced: string, text: string): { action: "refuse"; reply: SmtpReply } => ({
  action: "refuse",
  reply: { code, enhanced, text },
});
