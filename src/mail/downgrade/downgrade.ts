import { isAscii } from "node:buffer";
import { Readable } from "node:stream";
import { planSevenBit, sevenBitBody, sevenBitHeader } from "../../protocol/mime/index.ts";
import { createHeaderEndFinder, readHeader } from "../../protocol/rfc5322/index.ts";
import type { Signer, Signing } from "../authenticate/index.ts";
import type { SmtpReply } from "../messages/index.ts";
import type { ReplayableBody, Downgrade } from "../outbound/index.ts";
import { asciiHeader } from "./ascii-header.ts";
import { removeOwnSignatures, type FindKey } from "./own-signatures.ts";

interface DowngradeDeps {
  signer: Signer;
  findKey: FindKey;
}

const LIMITS = { maxBytes: 2 * 1024 * 1024, maxFields: 20_000 };

/** Returns the reply for a message that cannot be converted (RFC 6152 3, RFC 6531 3.2). */
const notEncodableReply = (why: string): SmtpReply => ({
  code: 554,
  enhanced: "5.6.3",
  text: `the next hop does not support 8BITMIME, and the message cannot be encoded: ${why}`,
});
const notAsciiReply = (why: string): SmtpReply => ({
  code: 550,
  enhanced: "5.6.7",
  text: `the next hop does not support SMTPUTF8, and ${why}`,
});

/**
 * Converts messages for servers without 8BITMIME or SMTPUTF8 and signs them again with the same keys. Foreign
 * signatures no longer verify afterwards; the ARC set records that they were valid. The message is streamed three
 * times: to plan the conversion, to sign, and to send.
 */
export function createDowngrade({ signer, findKey }: DowngradeDeps): Downgrade {
  return async (body, { own, eightBitMime, smtpUtf8 }) => {
    const { header, open } = await splitBody(body);
    const mustEncodeHeader = body.utf8Header && !(smtpUtf8 && eightBitMime);
    if (mustEncodeHeader && !own)
      return { ok: false, reply: notAsciiReply("header fields of a forwarded message must not be changed") };
    const { unsignedHeader, signing } = await removeOwnSignatures(header, findKey);
    const ascii = mustEncodeHeader ? asciiHeader(unsignedHeader) : { header: unsignedHeader };
    if ("field" in ascii)
      return {
        ok: false,
        reply: notAsciiReply(`the field ${ascii.field || "without a name"} cannot be converted to ASCII`),
      };
    if (eightBitMime) return { ok: true, body: await signAgain(ascii.header, open, signing, body.eightBit) };
    if (!isAscii(ascii.header))
      return { ok: false, reply: notEncodableReply("its header section contains 8-bit data") };
    const plan = await planSevenBit(ascii.header, open());
    if ("why" in plan) return { ok: false, reply: notEncodableReply(plan.why) };
    const encoded = sevenBitHeader(ascii.header, plan, fieldsOf(ascii.header));
    return {
      ok: true,
      body: await signAgain(encoded, () => sevenBitBody(ascii.header, open(), plan), signing, false),
    };
  };

  async function signAgain(
    header: Buffer,
    open: () => AsyncIterable<Uint8Array>,
    signing: Signing,
    eightBit: boolean,
  ): Promise<ReplayableBody> {
    let size = header.length;
    async function* readCounted() {
      for await (const chunk of open()) {
        size += chunk.length;
        yield chunk;
      }
    }
    const signatures = await signer.sign(
      { headerBlock: header, open: () => Readable.from(readCounted(), { objectMode: false }) },
      signing,
    );
    // Without signatures the message has not been read yet; its size is needed.
    if (size === header.length) for await (const _chunk of readCounted()) continue;
    const signedHeader = Buffer.concat([Buffer.from(signatures), header]);
    async function* readWhole() {
      yield signedHeader;
      yield* open();
    }
    return {
      size: size + signedHeader.length - header.length,
      eightBit,
      utf8Header: false,
      open: () => Readable.from(readWhole(), { objectMode: false }),
    };
  }
}

function fieldsOf(header: Uint8Array) {
  const reading = readHeader(header, LIMITS);
  return reading.ok ? reading.fields : [];
}

/**
 * Splits a message into the header section and a reader for the rest, which starts with the empty line. The reader
 * opens the body on the first read.
 */
async function splitBody(body: ReplayableBody): Promise<{ header: Buffer; open: () => AsyncIterable<Uint8Array> }> {
  const scan = createHeaderEndFinder();
  const leadingChunks: Uint8Array[] = [];
  let end: number | undefined;
  for await (const chunk of chunksOf(await body.open())) {
    leadingChunks.push(chunk);
    end = scan.push(chunk);
    if (end !== undefined) break;
  }
  const bytes = Buffer.concat(leadingChunks);
  const length = end ?? bytes.length;
  return { header: Buffer.from(bytes.subarray(0, length)), open: () => skipBytes(length, body) };
}

const PIECE_BYTES = 64 * 1024;

/** Splits into bounded chunks, so that a large in-memory message does not block the event loop. */
async function* chunksOf(raw: Readable | Uint8Array): AsyncGenerator<Uint8Array> {
  if (!(raw instanceof Uint8Array)) {
    yield* raw as AsyncIterable<Uint8Array>;
    return;
  }
  for (let at = 0; at < raw.length; at += PIECE_BYTES) {
    if (at > 0) await new Promise(setImmediate);
    yield raw.subarray(at, at + PIECE_BYTES);
  }
}

async function* skipBytes(length: number, body: ReplayableBody): AsyncGenerator<Uint8Array> {
  let skip = length;
  for await (const chunk of chunksOf(await body.open())) {
    const from = Math.min(skip, chunk.length);
    skip -= from;
    if (from < chunk.length) yield chunk.subarray(from);
  }
}
