import { Readable } from "node:stream";
import { crlfLineEnds } from "../../protocol/rfc5322/index.ts";
import { MAX_MESSAGE_BYTES, type Spool } from "../messages/index.ts";
import type { Sending, SendResult } from "./types.ts";

interface SendText {
  account: string;
  from: string;
  to: readonly string[];
  /** A complete message, with any kind of line endings. */
  text: string;
}

/** Sends a message given as text. Throws the same errors as `send`. */
export async function sendTextMessage(
  { sending, spool }: { sending: Pick<Sending, "send">; spool: Pick<Spool, "collect"> },
  { account, from, to, text }: SendText,
): Promise<SendResult> {
  const source = await spool.collect(crlfLineEnds(Readable.from([Buffer.from(text)])), { maxBytes: MAX_MESSAGE_BYTES });
  try {
    return await sending.send({ account, via: "rest_raw", from, to, raw: source });
  } finally {
    await source.discard();
  }
}
