import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { ChunkError, decodeChunks } from "../../protocol/aws-sigv4/index.ts";
import type { PayloadSigning } from "./authenticate.ts";
import type { BodyMemoryLease } from "./body-memory.ts";
import { CHECKSUM_BYTES, createChecksum, isS3Checksum, type Checksum, type S3Checksum } from "./checksums.ts";
import { s3Errors } from "./errors.ts";

type Headers = Readonly<Record<string, string | undefined>>;

/** The body of a request. */
export interface S3Body {
  /** Length of the decoded body in bytes; undefined if the client did not announce it. */
  size: number | undefined;
  /**
   * Yields the decoded bytes as they arrive; throws at the end if a checksum or signature does not match, and then none
   * of the bytes are authentic. Can be read only once.
   */
  bytes: AsyncIterable<Uint8Array>;
  /** Checksums announced by the client that are stored with an object, in hex. */
  storedChecksums: { md5?: string; sha1?: string; sha256?: string };
  /** Response headers with the verified checksum, after the body has been read. */
  checksumHeaders(): Record<string, string>;
}

/**
 * `confirm` runs after the last byte and before the iterator ends. It throws if the key was revoked in the meantime.
 */
export function s3Body(
  request: IncomingMessage,
  headers: Headers,
  payload: PayloadSigning,
  confirm: () => Promise<void>,
): S3Body {
  const checks = readChecks(headers);
  const trailers: Record<string, string> = {};
  const rawBytes = requestBytes(request);
  const decodedBytes =
    payload.kind === "chunked"
      ? decodeChunks(rawBytes, {
          trailer: payload.trailer,
          ...(payload.signing && { signing: payload.signing }),
          onTrailer: (sentTrailers) => void Object.assign(trailers, sentTrailers),
        })
      : rawBytes;
  const length = payload.kind === "chunked" ? headers["x-amz-decoded-content-length"] : headers["content-length"];
  const size = length !== undefined && /^\d{1,16}$/.test(length) ? Number(length) : undefined;

  async function* verifiedBytes(): AsyncGenerator<Uint8Array> {
    const sha256 = payload.kind === "hashed" ? createHash("sha256") : undefined;
    const md5 = checks.md5 === undefined ? undefined : createHash("md5");
    try {
      for await (const bytes of decodedBytes) {
        sha256?.update(bytes);
        md5?.update(bytes);
        checks.runningChecksum?.update(bytes);
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
    verifyChecksum(checks, trailers);
    await confirm();
  }

  const storedAlgorithm = checks.algorithm === "sha1" || checks.algorithm === "sha256" ? checks.algorithm : undefined;
  return {
    size,
    bytes: verifiedBytes(),
    storedChecksums: {
      ...(checks.md5 !== undefined && { md5: base64ToHex(checks.md5) }),
      ...(storedAlgorithm &&
        checks.announcedValue !== undefined && { [storedAlgorithm]: base64ToHex(checks.announcedValue) }),
    },
    checksumHeaders: () =>
      checks.algorithm === undefined || checks.computedValue === undefined
        ? {}
        : { [`x-amz-checksum-${checks.algorithm}`]: checks.computedValue },
  };
}

interface BodyChecks {
  /** Base64. */
  md5: string | undefined;
  algorithm: S3Checksum | undefined;
  /** Value from a header; a value in a trailer arrives after the body. */
  announcedValue: string | undefined;
  runningChecksum: Checksum | undefined;
  /** Set at the end of the body. */
  computedValue?: string;
}

/** Reads the announced checksums: as in S3, at most one in addition to Content-MD5. */
function readChecks(headers: Headers): BodyChecks {
  const md5 = headers["content-md5"];
  if (md5 !== undefined && !isBase64(md5, 16)) throw s3Errors.invalidDigest({ header: "Content-MD5" });
  const announcedAlgorithms = Object.keys(headers).flatMap((name) => {
    const algorithm = /^x-amz-checksum-(.*)$/.exec(name)?.[1];
    return algorithm !== undefined && isS3Checksum(algorithm) ? [algorithm] : [];
  });
  const trailer = (headers["x-amz-trailer"] ?? "").trim().toLowerCase();
  const trailerAlgorithm = /^x-amz-checksum-(.*)$/.exec(trailer)?.[1];
  if (trailerAlgorithm !== undefined && isS3Checksum(trailerAlgorithm)) announcedAlgorithms.push(trailerAlgorithm);
  if (announcedAlgorithms.length > 1)
    throw s3Errors.invalidRequest({
      problem: "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.",
    });
  const [algorithm] = announcedAlgorithms;
  if (algorithm === undefined) return { md5, algorithm, announcedValue: undefined, runningChecksum: undefined };
  const header = `x-amz-checksum-${algorithm}`;
  const announcedValue = headers[header];
  if (announcedValue !== undefined && !isBase64(announcedValue, CHECKSUM_BYTES[algorithm]))
    throw s3Errors.invalidDigest({ header });
  return { md5, algorithm, announcedValue, runningChecksum: createChecksum(algorithm) };
}

function verifyChecksum(checks: BodyChecks, trailers: Record<string, string>): void {
  const { algorithm, announcedValue, runningChecksum } = checks;
  if (algorithm === undefined || runningChecksum === undefined) return;
  const expected = announcedValue ?? trailers[`x-amz-checksum-${algorithm}`];
  checks.computedValue = runningChecksum.digest();
  if (expected === undefined || expected !== checks.computedValue)
    throw s3Errors.badDigest({ algorithm: algorithm.toUpperCase() });
}

const isBase64 = (text: string, bytes: number) => {
  const decoded = Buffer.from(text, "base64");
  return decoded.length === bytes && decoded.toString("base64") === text;
};
const base64ToHex = (base64: string) => Buffer.from(base64, "base64").toString("hex");

/**
 * Yields the bytes of the body as they arrive. The iterator has no return(): ending it early would destroy the request
 * and its connection.
 */
function requestBytes(request: IncomingMessage): AsyncIterable<Uint8Array> {
  const chunks = (request as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  return {
    [Symbol.asyncIterator]: () => ({ next: () => chunks.next() as Promise<IteratorResult<Uint8Array, undefined>> }),
  };
}

/**
 * Reads a small body into memory, which `memory` counts. Throws xmlTooLarge, slowDown and the errors of reading the
 * body.
 */
export async function collectBody(
  { bytes, size }: S3Body,
  maxBytes: number,
  memory: Pick<BodyMemoryLease, "reserve">,
): Promise<Buffer> {
  if ((size ?? 0) > maxBytes) throw s3Errors.xmlTooLarge({ limit: maxBytes });
  // Uses one growing buffer: a list of many tiny buffers would need several times as much memory.
  let collected = Buffer.alloc(0);
  let length = 0;
  for await (const buffer of bytes) {
    if (length + buffer.length > maxBytes) throw s3Errors.xmlTooLarge({ limit: maxBytes });
    memory.reserve(buffer.length);
    if (length + buffer.length > collected.length) {
      const larger = Buffer.alloc(Math.min(maxBytes, Math.max(2 * collected.length, length + buffer.length)));
      collected.copy(larger, 0, 0, length);
      collected = larger;
    }
    collected.set(buffer, length);
    length += buffer.length;
  }
  return collected.subarray(0, length);
}
