import { createHash } from "node:crypto";
import { scopeText, sameSignature, signText, type Scope } from "./sign.ts";

/** Signature context of a chunked body: each chunk signature covers the previous one. */
export interface ChunkSigning {
  key: Buffer;
  scope: Scope;
  time: string;
  /** The signature of the request. */
  seed: string;
}

export interface ChunkOptions {
  /** Absent: the chunks are unsigned. */
  signing?: ChunkSigning;
  /** Whether trailing headers follow the last chunk. */
  trailer: boolean;
  /** Receives the trailing headers by lower-case name, before the body ends. */
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
const MAX_LINE = 16 * 1024;
const MAX_TRAILER_LINES = 20;
/** AWS clients send 64 KiB to 8 MiB; a signed chunk is held until its signature has been checked. */
const MAX_SIGNED_CHUNK = 16 * 1024 * 1024;
const MAX_CHUNK = 2 ** 40;

/**
 * Decodes a body with the content encoding `aws-chunked`. Yields only octets whose signature has been checked. Throws
 * ChunkError.
 */
export async function* decodeChunks(
  body: AsyncIterable<Uint8Array>,
  { signing, trailer, onTrailer }: ChunkOptions,
): AsyncGenerator<Uint8Array> {
  const reader = createReader(body);
  let previous = signing?.seed ?? "";
  for (;;) {
    const { size, signature } = readHeader(await reader.line(), signing === undefined ? MAX_CHUNK : MAX_SIGNED_CHUNK);
    if (signing === undefined) {
      yield* reader.take(size);
    } else {
      const hash = createHash("sha256");
      const pieces: Uint8Array[] = [];
      for await (const piece of reader.take(size)) {
        hash.update(piece);
        pieces.push(piece);
      }
      previous = checkChunk(signing, previous, hash.digest("hex"), signature);
      yield* pieces;
    }
    if (size === 0) break;
    if ((await reader.line()) !== "") throw new ChunkError("malformed");
  }
  await readEnd(reader, previous, { trailer, ...(signing && { signing }), ...(onTrailer && { onTrailer }) });
}

function readHeader(line: string, most: number): { size: number; signature: string | undefined } {
  const [, hex, signature] = /^([0-9a-f]{1,11})(?:;chunk-signature=([0-9a-f]{64}))?$/i.exec(line) ?? [];
  const size = hex === undefined ? Number.NaN : Number.parseInt(hex, 16);
  if (!(size <= most)) throw new ChunkError("malformed");
  return { size, signature };
}

function checkChunk({ key, scope, time }: ChunkSigning, previous: string, hash: string, sent: string | undefined) {
  const text = ["AWS4-HMAC-SHA256-PAYLOAD", time, scopeText(scope), previous, EMPTY_SHA256, hash].join("\n");
  const signature = signText(key, text);
  if (sent === undefined || !sameSignature(signature, sent)) throw new ChunkError("signature");
  return signature;
}

/** The trailing headers, and the empty line that some clients send after the last chunk. */
async function readEnd(
  reader: ReturnType<typeof createReader>,
  previous: string,
  { signing, trailer, onTrailer }: ChunkOptions,
): Promise<void> {
  const headers: Record<string, string> = {};
  let canonical = "";
  let signature: string | undefined;
  for (let count = 0; ; count++) {
    const line = await reader.lineOrEnd();
    if (line === undefined) break;
    // With signed trailers, an empty line may precede the signature.
    if (line === "") continue;
    const at = line.indexOf(":");
    if (!trailer || at < 1 || count > MAX_TRAILER_LINES) throw new ChunkError("malformed");
    const [name, value] = [line.slice(0, at).trim().toLowerCase(), line.slice(at + 1).trim()];
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
    if (signature === undefined || !sameSignature(expected, signature)) throw new ChunkError("signature");
  }
  onTrailer?.(headers);
}

/** Reads lines and counted octets from a stream, which it never returns early. */
function createReader(body: AsyncIterable<Uint8Array>) {
  const chunks = body[Symbol.asyncIterator]();
  let pending: Buffer = Buffer.alloc(0);

  async function more(): Promise<boolean> {
    const next = await chunks.next();
    if (next.done === true) return false;
    const chunk = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength);
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
      if (pending.length > MAX_LINE) throw new ChunkError("malformed");
      from = pending.length;
      if (await more()) continue;
      if (pending.length === 0) return undefined;
      // The last line may lack its line break.
      const rest = pending.toString("latin1");
      pending = Buffer.alloc(0);
      return rest;
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
      let missing = size;
      while (missing > 0) {
        if (pending.length === 0 && !(await more())) throw new ChunkError("malformed");
        const piece = pending.subarray(0, missing);
        pending = pending.subarray(piece.length);
        missing -= piece.length;
        yield piece;
      }
    },
  };
}
