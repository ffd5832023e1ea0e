import type { IncomingMessage } from "node:http";
import { streamErrors } from "../errors.ts";

/** Content type of upload data (TUS 1.0.0, PATCH). */
export const UPLOAD_DATA = "application/offset+octet-stream";

/** State of an upload. `length`: undefined until the client declares it (Upload-Defer-Length). */
interface UploadState {
  offset: number;
  length: number | undefined;
}

/** Headers of a PATCH request, in bytes. `contentLength`: undefined for a chunked body. */
interface PatchHeaders {
  offset: number;
  uploadLength: number | undefined;
  contentLength: number | undefined;
}

/** Returns true for a non-negative safe integer in decimal, without a sign, exponent or leading zeros. */
const isCount = (value: string) => /^\d+$/.test(value) && String(Number(value)) === value;

/** In alphabetical order: error responses list the names in this order. */
const RULES: [name: string, isValid: (value: string) => boolean][] = [
  ["content-type", (value) => value === UPLOAD_DATA],
  ["tus-version", (value) => value === "1.0.0"],
  ["upload-concat", (value) => value === "partial" || value.startsWith("final;")],
  ["upload-defer-length", (value) => value === "1"],
  ["upload-length", isCount],
  ["upload-offset", isCount],
];

/**
 * Validates the protocol's headers wherever they appear. Content-Type is checked for PATCH only, because HTTP clients
 * send a default value with other methods. Throws tusHeadersInvalid.
 */
export function checkHeaderValues({ headersDistinct: headers }: IncomingMessage, method: string): void {
  const invalidHeader = RULES.filter(([name, isValid]) => {
    const values = headers[name];
    return values !== undefined && (name !== "content-type" || method === "PATCH") && !isValid(values.join(", "));
  });
  if (invalidHeader.length > 0)
    throw streamErrors.tusHeadersInvalid({ names: invalidHeader.map(([name]) => name).join(" ") });
}

/** Reads headers that `checkHeaderValues` has accepted. Throws tusHeaderMissing. */
export function readPatch({ headers }: IncomingMessage): PatchHeaders {
  const offset = headers["upload-offset"];
  if (offset === undefined) throw streamErrors.tusHeaderMissing({ name: "Upload-Offset" });
  if (headers["content-type"] === undefined) throw streamErrors.tusHeaderMissing({ name: "Content-Type" });
  const numberOf = (value: string | string[] | undefined) => (value === undefined ? undefined : Number(value));
  return {
    offset: Number(offset),
    uploadLength: numberOf(headers["upload-length"]),
    contentLength: numberOf(headers["content-length"]),
  };
}

/**
 * "If the offsets do not match, the Server MUST respond with the 409 Conflict status without modifying the upload
 * resource", and "Once set the length MUST NOT be changed". Throws offsetConflict, uploadLengthRejected.
 */
export function checkPatchHeaders(patch: PatchHeaders, { offset, length }: UploadState): void {
  if (patch.offset !== offset) throw streamErrors.offsetConflict();
  if (patch.uploadLength !== undefined && (length !== undefined || patch.uploadLength < offset))
    throw streamErrors.uploadLengthRejected();
}

/** Rejects a body that is longer than the rest of the upload before any of it is read. Throws chunkTooLong. */
export function checkContentLength({ contentLength = 0 }: PatchHeaders, { offset, length }: UploadState): void {
  if (length !== undefined && offset + contentLength > length) throw streamErrors.chunkTooLong();
}
