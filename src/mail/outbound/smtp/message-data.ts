import { Readable } from "node:stream";
import { createDataWriter } from "../../../protocol/smtp/index.ts";
import type { Channel } from "./channel.ts";
import type { SmtpTimeouts } from "./timeouts.ts";

/** How sending mail data ended. */
type DataEnd =
  /** `complete`: the server has the whole message. Otherwise it replied before the end. */
  | { reply: string; complete: boolean }
  /** The message could not be read. */
  | { unreadable: unknown }
  /** The connection ended. */
  | { lost: unknown; complete: boolean };

const PIECE_BYTES = 64 * 1024;
const SHORT_BYTES = 32 * 1024;

/**
 * Sends a message after the 354 reply and waits for the reply to the message. Unless the result is `complete`, the
 * connection must be closed.
 */
export async function sendData(
  channel: Channel,
  body: Readable | Uint8Array,
  { blockMs, finalMs }: Pick<SmtpTimeouts, "blockMs" | "finalMs">,
): Promise<DataEnd> {
  let complete = false;
  channel.expectReply();
  const reply = channel.reply();
  /** A reply, or the end of the connection, makes the rest of the message pointless. */
  const earlyReply = reply.then(
    () => undefined,
    () => undefined,
  );
  channel.setSilence(blockMs);
  try {
    const writer = createDataWriter();
    const pieces = piecesOf(body)[Symbol.asyncIterator]();
    // Reading may take forever: a reply must not wait for it.
    const read = () => Promise.race([pieces.next(), earlyReply]);
    let piece = await read();
    // The end-of-data marker of a short message is sent together with it: one packet instead of two.
    const isShort = body instanceof Uint8Array && body.length <= SHORT_BYTES;
    if (!isShort)
      for (; piece !== undefined && piece.done !== true; piece = await read())
        await channel.write(writer.push(piece.value));
    if (piece !== undefined) {
      complete = true;
      channel.setSilence(finalMs);
      await channel.write([...(piece.done === true ? [] : writer.push(piece.value)), writer.end()]);
    }
  } catch (err) {
    return { unreadable: err };
  }
  try {
    return { reply: await reply, complete };
  } catch (err) {
    return { lost: err, complete };
  }
}

async function* piecesOf(body: Readable | Uint8Array): AsyncIterable<Uint8Array> {
  if (body instanceof Readable) yield* body as AsyncIterable<Uint8Array>;
  else for (let at = 0; at < body.length; at += PIECE_BYTES) yield body.subarray(at, at + PIECE_BYTES);
}
