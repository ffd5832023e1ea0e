import {
  CHECKSUM_REJECTED,
  failed,
  invalidHeaders,
  NOT_FOUND,
  STORAGE_ERROR,
  type TusCase,
  type TusResponse,
  UPLOAD_EXPIRED,
  UPLOAD_HEADERS,
  wrongVersion,
} from "./tus-responses.testing.ts";

const head = (headers: Record<string, string>): TusResponse => [
  200,
  { ...UPLOAD_HEADERS, "cache-control": "no-store", "content-type": "text/plain;charset=UTF-8", ...headers },
];
const at8 = { "upload-length": "20", "upload-offset": "8" };

/** HEAD: the offset, the length and the metadata of an upload. */
export const HEAD_CASES: TusCase[] = [
  ["HEAD, no data", "new", "HEAD", {}, undefined, head({ ...at8, "upload-offset": "0" })],
  ["HEAD, some data", "part", "HEAD", {}, undefined, head(at8)],
  [
    "HEAD by POST",
    "part",
    "POST",
    { "x-http-method-override": "HEAD" },
    undefined,
    head({ ...at8, "transfer-encoding": "chunked" }),
  ],
  [
    "HEAD with metadata",
    "named",
    "HEAD",
    {},
    undefined,
    head({ ...at8, "upload-metadata": "name aGVsbG8=, requiresignedurls" }),
  ],
  [
    "HEAD, length deferred",
    "deferred",
    "HEAD",
    {},
    undefined,
    head({ "upload-defer-length": "1", "upload-offset": "8" }),
  ],
  ["HEAD, complete", "done", "HEAD", {}, undefined, head({ "upload-length": "20", "upload-offset": "20" })],
  ["HEAD of a one-time URL", "direct", "HEAD", {}, undefined, head(at8)],
  ["HEAD of an unused one-time URL", "unused", "HEAD", {}, undefined, NOT_FOUND],
  ["HEAD with a wrong secret", "part", "HEAD", { ":secret": "wrong" }, undefined, NOT_FOUND],
  ["HEAD without version", "part", "HEAD", { "tus-resumable": [] }, undefined, wrongVersion("absent")],
  ["HEAD with another version", "part", "HEAD", { "tus-resumable": "0.2.2" }, undefined, wrongVersion('"0.2.2"')],
  [
    "HEAD with two versions",
    "part",
    "HEAD",
    { "tus-resumable": ["1.0.0", "1.0.0"] },
    undefined,
    wrongVersion('"1.0.0, 1.0.0"'),
  ],
  ["HEAD with Upload-Checksum", "part", "HEAD", { "upload-checksum": "sha1 AAAA" }, undefined, CHECKSUM_REJECTED],
  ["HEAD with an offset", "part", "HEAD", { "upload-offset": "x" }, undefined, invalidHeaders("upload-offset")],
  [
    "HEAD with invalid headers",
    "part",
    "HEAD",
    {
      "upload-offset": "1.5",
      "upload-length": "-1",
      "tus-version": "2",
      "upload-defer-length": "0",
      "upload-concat": "",
    },
    undefined,
    invalidHeaders("tus-version upload-concat upload-defer-length upload-length upload-offset"),
  ],
  [
    "HEAD with irrelevant headers",
    "part",
    "HEAD",
    {
      "content-type": "text/plain",
      "x-forwarded-proto": "https, http",
      "upload-metadata": "a b c, a",
      "upload-length": "7",
    },
    undefined,
    head(at8),
  ],
  ["HEAD, storage fails", "broken", "HEAD", {}, undefined, failed(500, STORAGE_ERROR)],
  ["HEAD, expired", "expired", "HEAD", {}, undefined, UPLOAD_EXPIRED],
];
