import { createHash } from "node:crypto";
import { scopeText, isSameSignature, signText, type CredentialScope } from "./sign.ts";

/** Signature context of a chunked body: each chunk signature covers the previous one. */
export interface ChunkSigning {
  key: Buffer;
  scope: CredentialScope;
  time: string;
  /** The signature of the request. */
  seedSignature: string;
}

export interface ChunkOptions {
  /** If absent, the chunks are unsigned. */
  signing?: ChunkSigning;
  /** True if trailing headers follow the last chunk. */
  trailer: boolean;
  /** Called with the trailing headers by lower-case name, before the body ends. */
  onTrailer?(headers: Record<string, string>): void;
}

/** The body is not in the format `aws-chunked`, or a signature does not match. */
export class ChunkError extends Error {
  override readonly name = "ChunkError";
  readonly reason: "malformed" | "signature";

  constructor(reason: "malformed" | "signature") {
    super(reason === "signature" ? "the signature of a chunk does not match" : "the chunked body is malformed");
    this.reason = reason;
  }
}

const EMPTY_SHA256 = createHash("sha256").digest("hex");
const MAX_LINE_BYTES = 16 * 1024;
const MAX_TRAILER_LINES = 20;
const MAX_CHUNK_BYTES = 2 ** 40;

/**
 * Decodes a body with the content encoding `aws-chunked`. Throws ChunkError.
 *
 * Yields bytes as they arrive, before the signature of their chunk has been verified: a client can choose the size of a
 * chunk, so holding chunks back would let it choose the memory in use. The bytes are authentic only once the iterator
 * has ended without an error, so the caller must discard them otherwise.
 */
export async function* decodeChunks(
  body: AsyncIterable<Uint8Array>,
  { signing, trailer, onTrailer }: ChunkOptions,
): AsyncGenerator<Uint8Array> {
  const byteReader = createByteReader(body);
  let previousSignature = signing?.seedSignature ?? "";
  for (;;) {
    const { size, signature } = readChunkHeader(await byteReader.line());
    if (signing === undefined) {
      yield* byteReader.take(size);
    } else {
      const hash = createHash("sha256");
      for await (const buffer of byteReader.take(size)) {
        hash.update(buffer);
        yield buffer;
      }
      previousSignature = checkChunk(signing, previousSignature, hash.digest("hex"), signature);
    }
    if (size === 0) break;
    if ((await byteReader.line()) !== "") throw new ChunkError("malformed");
  }
  await readTrailer(byteReader, previousSignature, {
    trailer,
    ...(signing && { signing }),
    ...(onTrailer && { onTrailer }),
  });
}

function readChunkHeader(line: string): { size: number; signature: string | undefined } {
  const [, hex, signature] = /^([0-9a-f]{1,11})(?:;chunk-signature=([0-9a-f]{64}))?$/i.exec(line) ?? [];
  const size = hex === undefined ? Number.NaN : Number.parseInt(hex, 16);
  if (!(size <= MAX_CHUNK_BYTES)) throw new ChunkError("malformed");
  return { size, signature };
}

function checkChunk(
  { key, scope, time }: ChunkSigning,
  previousSignature: string,
  chunkHash: string,
  sentSignature: string | undefined,
) {
  const text = ["AWS4-HMAC-SHA256-PAYLOAD", time, scopeText(scope), previousSignature, EMPTY_SHA256, chunkHash].join(
    "\n",
  );
  const signature = signText(key, text);
  if (sentSignature === undefined || !isSameSignature(signature, sentSignature)) throw new ChunkError("signature");
  return signature;
}

/** Reads the trailing headers, and the empty line that some clients send after the last chunk. */
async function readTrailer(
  byteReader: ReturnType<typeof createByteReader>,
  previous: string,
  { signing, trailer, onTrailer }: ChunkOptions,
): Promise<void> {
  const headers: Record<string, string> = {};
  let canonical = "";
  let signature: string | undefined;
  for (let count = 0; ; count++) {
    const line = await byteReader.lineOrEnd();
    if (line === undefined) break;
    // With signed trailers, an empty line may precede the signature.
    if (line === "") continue;
    const colon = line.indexOf(":");
    if (!trailer || colon < 1 || count > MAX_TRAILER_LINES) throw new ChunkError("malformed");
    const [name, value] = [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()];
    if (name === "x-amz-trailer-signature") {
      signature = value;
      continue;
    }
    headers[name] = value;
    canonical += `${name}:${value}\n`;
  }
  if (signing !== undefined && trailer) {
    const { key, scope, time } = signing;
    const hash = createHash("sha256").update(Buffer.from(canonical, "latin1")).digest("hex");
    const expected = signText(key, ["AWS4-HMAC-SHA256-TRAILER", time, scopeText(scope), previous, hash].join("\n"));
    if (signature === undefined || !isSameSignature(expected, signature)) throw new ChunkError("signature");
  }
  onTrailer?.(headers);
}

/** Reads lines and a given number of bytes from a stream. Never calls return() on the iterator of the stream. */
function createByteReader(body: AsyncIterable<Uint8Array>) {
  const chunks = body[Symbol.asyncIterator]();
  let pending: Buffer = Buffer.alloc(0);

  async function readMore(): Promise<boolean> {
    const result = await chunks.next();
    if (result.done === true) return false;
    const chunk = Buffer.from(result.value.buffer, result.value.byteOffset, result.value.byteLength);
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    return true;
  }

  async function lineOrEnd(): Promise<string | undefined> {
    for (let from = 0; ;) {
      const end = pending.indexOf("\n", from);
      if (end >= 0) {
        const line = pending.subarray(0, end).toString("latin1");
        pending = pending.subarray(end + 1);
        return line.endsWith("\r") ? line.slice(0, -1) : line;
      }
      if (pending.length > MAX_LINE_BYTES) throw new ChunkError("malformed");
      from = pending.length;
      if (await readMore()) continue;
      if (pending.length === 0) return undefined;
      // The last line may lack its line break.
      const lastLine = pending.toString("latin1");
      pending = Buffer.alloc(0);
      return lastLine;
    }
  }

  return {
    lineOrEnd,
    async line(): Promise<string> {
      const line = await lineOrEnd();
      if (line === undefined) throw new ChunkError("malformed");
      return line;
    },
    async *take(size: number): AsyncGenerator<Uint8Array> {
      let remaining = size;
      while (remaining > 0) {
        if (pending.length === 0 && !(await readMore())) throw new ChunkError("malformed");
        const buffer = pending.subarray(0, remaining);
        pending = pending.subarray(buffer.length);
        remaining -= buffer.length;
        yield buffer;
      }
    },
  };
}
