// Requests and expected responses of the TUS tests. Texts and headers are part of the wire contract: clients match on
// them.

import { VIDEO_HEAD } from "./uploads.testing.ts";

/** A list sends the header several times; an empty list removes it. */
export type TusHeaders = Record<string, string | string[]>;
/** Chunks without Content-Length, or a body with it. */
export type TusBody = string | string[];
/** State of the upload before the request; all but `new`, `done` and `unused` have 8 of 20 bytes. */
export type TusState =
  | "new"
  | "part"
  | "named"
  | "deferred"
  | "done"
  | "unused"
  | "direct"
  | "broken"
  | "full"
  | "expired";
export type TusResponse = [status: number, headers: Record<string, string>, text?: string];
export type TusCase = [
  name: string,
  state: TusState,
  method: string,
  headers: TusHeaders,
  body: TusBody | undefined,
  expected: TusResponse,
];

/** Headers of preflights and of other responses that do not come from an existing upload. */
export const CORS_HEADERS = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "Location, Stream-Media-Id, Tus-Extension, Tus-Max-Size, Tus-Resumable, Tus-Version, Upload-Defer-Length, Upload-Expires, Upload-Length, Upload-Metadata, Upload-Offset",
};
/** Headers of the responses of an existing upload. */
export const UPLOAD_HEADERS = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "Authorization, Content-Type, Location, Tus-Extension, Tus-Max-Size, Tus-Resumable, Tus-Version, Upload-Concat, Upload-Defer-Length, Upload-Length, Upload-Metadata, Upload-Offset, X-HTTP-Method-Override, X-Requested-With, X-Forwarded-Host, X-Forwarded-Proto, Forwarded, Stream-Media-Id,Upload-Expires",
  "tus-resumable": "1.0.0",
  "stream-media-id": "UID",
  "upload-expires": "Sat, 28 Nov 2026 00:00:00 GMT",
};
const plain = (text: string) => ({
  "content-type": "text/plain;charset=UTF-8",
  "content-length": String(Buffer.byteLength(text)),
});
/** Returns an accepted PATCH; `offset` is the new one, in bytes. */
export const stored = (offset: number): TusResponse => [204, { ...UPLOAD_HEADERS, "upload-offset": String(offset) }];
/** Returns the response to a request that is rejected before the upload is read. */
export const invalidHeaders = (names: string): TusResponse => [
  400,
  { ...UPLOAD_HEADERS, ...plain(`Invalid ${names}\n`) },
  `Invalid ${names}\n`,
];
/** Returns an error of an existing upload. */
export const failed = (status: number, text: string): TusResponse => [
  status,
  { ...UPLOAD_HEADERS, ...plain(text) },
  text,
];
/** Returns a rejected PATCH, whose connection is closed. */
export const rejected = (status: number, text: string): TusResponse => [
  status,
  { ...failed(status, text)[1], connection: "close" },
  text,
];
/** Returns the response to a request that is rejected regardless of its method. */
export const rejectedEarly = (status: number, text: string, headers: Record<string, string> = {}): TusResponse => [
  status,
  {
    ...CORS_HEADERS,
    "tus-resumable": "1.0.0",
    "cache-control": "no-store",
    "content-type": "text/plain; charset=utf-8",
    "content-length": String(Buffer.byteLength(text)),
    ...(status === 412 && { "tus-version": "1.0.0" }),
    ...headers,
  },
  text,
];

export const NOT_FOUND = rejectedEarly(404, "Upload not found\n");
export const OFFSET_CONFLICT = rejected(409, "Upload-Offset conflict\n");
export const LENGTH_REJECTED = rejected(400, "Upload-Length or Upload-Defer-Length header required\n");
export const wrongVersion = (given: string) => rejectedEarly(412, `Tus-Resumable must be 1.0.0, not ${given}\n`);
export const ALREADY_UPLOADED = rejectedEarly(409, "The video UID was already uploaded\n", {
  "x-should-retry": "false",
  "content-length": "64",
});
export const CHECKSUM_REJECTED = rejectedEarly(
  400,
  "Bad Request: Upload-Checksum is not supported (Tus-Extension lists no checksum): send the request without it\n",
);
export const STORAGE_ERROR = "Internal error. The data received so far is kept.\n";
export const UPLOAD_EXPIRED = rejectedEarly(
  410,
  "This upload URL expired at 2026-11-28T00:00:00.000Z. Create another one.\n",
);
export const badRequest = (reason: string) => rejectedEarly(400, `Bad Request: ${reason}\n`);

export const UPLOAD_TYPE = { "content-type": "application/offset+octet-stream" };
/** Returns the headers of a PATCH at this offset, in bytes. */
export const patchAt = (offset: number | string, headers: TusHeaders = {}): TusHeaders => ({
  ...UPLOAD_TYPE,
  "upload-offset": String(offset),
  ...headers,
});
/** The start of a video file in latin1: the remaining 12 bytes of an upload that has 8 of 20. */
export const REST = VIDEO_HEAD.toString("latin1");
/** 1024 bytes in latin1. */
export const KIB = "\0".repeat(1024);
