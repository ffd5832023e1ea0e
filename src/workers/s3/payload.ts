import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { ChunkError, decodeChunks } from "../../protocol/aws-sigv4/index.ts";
import type { Payload } from "./authenticate.ts";
import { CHECKSUM_BYTES, createChecksum, isS3Checksum, type Checksum, type S3Checksum } from "./checksums.ts";
import { s3Errors } from "./errors.ts";

type Headers = Readonly<Record<string, string | undefined>>;

/** The body of a request. */
export interface S3Body {
  /** Length of the decoded body in bytes; undefined if the client did not announce it. */
  size: number | undefined;
  /** Yields the decoded bytes; throws at the end if a checksum or signature does not match. Read it once. */
  bytes: AsyncIterable<Uint8Array>;
  /** Checksums that the client announced, in hex, for those that are stored with an object. */
  stored: { md5?: string; sha1?: string; sha256?: string };
  /** Response headers with the checksums, once the body has been read. */
  confirmed(): Record<string, string>;
}

/** `confirm` runs after the last byte and before the end, and throws if the key was revoked in the meantime. */
export function s3Body(
  request: IncomingMessage,
  headers: Headers,
  payload: Payload,
  confirm: () => Promise<void>,
): S3Body {
  const checks = announcedChecks(headers);
  const trailers: Record<string, string> = {};
  const raw = sentBytes(request);
  const decoded =
    payload.kind === "chunked"
      ? decodeChunks(raw, {
          trailer: payload.trailer,
          ...(payload.signing && { signing: payload.signing }),
          onTrailer: (sent) => void Object.assign(trailers, sent),
        })
      : raw;
  const length = payload.kind === "chunked" ? headers["x-amz-decoded-content-length"] : headers["content-length"];
  const size = length !== undefined && /^\d{1,16}$/.test(length) ? Number(length) : undefined;

  async function* verified(): AsyncGenerator<Uint8Array> {
    const sha256 = payload.kind === "hashed" ? createHash("sha256") : undefined;
    const md5 = checks.md5 === undefined ? undefined : createHash("md5");
    try {
      for await (const bytes of decoded) {
        sha256?.update(bytes);
        md5?.update(bytes);
        checks.running?.update(bytes);
        yield bytes;
      }
    } catch (err) {
      if (!(err instanceof ChunkError)) throw err;
      throw err.reason === "signature"
        ? s3Errors.signatureDiffers({}, { cause: err })
        : s3Errors.malformedChunks({}, { cause: err });
    }
    if (payload.kind === "hashed" && sha256!.digest("hex") !== payload.sha256) throw s3Errors.contentDiffers();
    if (md5 && md5.digest("base64") !== checks.md5) throw s3Errors.badDigest({ algorithm: "Content-MD5" });
    checkChecksum(checks, trailers);
    await confirm();
  }

  const sha = checks.algorithm === "sha1" || checks.algorithm === "sha256" ? checks.algorithm : undefined;
  return {
    size,
    bytes: verified(),
    stored: {
      ...(checks.md5 !== undefined && { md5: hexOf(checks.md5) }),
      ...(sha && checks.value !== undefined && { [sha]: hexOf(checks.value) }),
    },
    confirmed: () =>
      checks.algorithm === undefined || checks.actual === undefined
        ? {}
        : { [`x-amz-checksum-${checks.algorithm}`]: checks.actual },
  };
}

interface Checks {
  /** Base64. */
  md5: string | undefined;
  algorithm: S3Checksum | undefined;
  /** From a header; a trailer arrives after the body. */
  value: string | undefined;
  running: Checksum | undefined;
  /** Set at the end of the body. */
  actual?: string;
}

/** At most one checksum besides Content-MD5, as in S3. */
function announcedChecks(headers: Headers): Checks {
  const md5 = headers["content-md5"];
  if (md5 !== undefined && !isBase64(md5, 16)) throw s3Errors.invalidDigest({ header: "Content-MD5" });
  const sent = Object.keys(headers).flatMap((name) => {
    const algorithm = /^x-amz-checksum-(.*)$/.exec(name)?.[1];
    return algorithm !== undefined && isS3Checksum(algorithm) ? [algorithm] : [];
  });
  const trailer = (headers["x-amz-trailer"] ?? "").trim().toLowerCase();
  const announced = /^x-amz-checksum-(.*)$/.exec(trailer)?.[1];
  if (announced !== undefined && isS3Checksum(announced)) sent.push(announced);
  if (sent.length > 1)
    throw s3Errors.invalidRequest({
      problem: "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.",
    });
  const [algorithm] = sent;
  if (algorithm === undefined) return { md5, algorithm, value: undefined, running: undefined };
  const header = `x-amz-checksum-${algorithm}`;
  const value = headers[header];
  if (value !== undefined && !isBase64(value, CHECKSUM_BYTES[algorithm])) throw s3Errors.invalidDigest({ header });
  return { md5, algorithm, value, running: createChecksum(algorithm) };
}

function checkChecksum(checks: Checks, trailers: Record<string, string>): void {
  const { algorithm, value, running } = checks;
  if (algorithm === undefined || running === undefined) return;
  const expected = value ?? trailers[`x-amz-checksum-${algorithm}`];
  checks.actual = running.digest();
  if (expected === undefined || expected !== checks.actual)
    throw s3Errors.badDigest({ algorithm: algorithm.toUpperCase() });
}

const isBase64 = (text: string, bytes: number) => {
  const decoded = Buffer.from(text, "base64");
  return decoded.length === bytes && decoded.toString("base64") === text;
};
const hexOf = (base64: string) => Buffer.from(base64, "base64").toString("hex");

/** The body as it arrives. It has no return(): leaving it early would destroy the request and its connection. */
function sentBytes(request: IncomingMessage): AsyncIterable<Uint8Array> {
  const chunks = (request as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  return {
    [Symbol.asyncIterator]: () => ({ next: () => chunks.next() as Promise<IteratorResult<Uint8Array, undefined>> }),
  };
}

/** Reads a small body. Throws xmlTooLarge, and the errors of the body. */
export async function collectBody({ bytes, size }: S3Body, limit: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let total = 0;
  if ((size ?? 0) > limit) throw s3Errors.xmlTooLarge({ limit });
  for await (const piece of bytes) {
    total += piece.length;
    if (total > limit) throw s3Errors.xmlTooLarge({ limit });
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
