import {
  failed,
  invalidHeaders,
  NOT_FOUND,
  STORAGE_ERROR,
  type TusCase,
  UPLOAD_EXPIRED,
  UPLOAD_HEADERS,
  wrongVersion,
} from "./tus-responses.testing.ts";

/** DELETE: termination of an upload. */
export const DELETE_CASES: TusCase[] = [
  ["DELETE", "part", "DELETE", {}, undefined, [204, UPLOAD_HEADERS]],
  ["DELETE, length deferred", "deferred", "DELETE", {}, undefined, [204, UPLOAD_HEADERS]],
  ["DELETE by POST", "part", "POST", { "x-http-method-override": "DELETE" }, undefined, [204, UPLOAD_HEADERS]],
  ["DELETE of a one-time URL", "direct", "DELETE", {}, undefined, [204, UPLOAD_HEADERS]],
  ["DELETE with a content type", "part", "DELETE", { "content-type": "a/b" }, undefined, [204, UPLOAD_HEADERS]],
  ["DELETE, complete", "done", "DELETE", {}, undefined, failed(400, "Cannot terminate an already completed upload")],
  ["DELETE of an unused one-time URL", "unused", "DELETE", {}, undefined, NOT_FOUND],
  [
    "DELETE with an invalid header",
    "part",
    "DELETE",
    { "upload-offset": "x" },
    undefined,
    invalidHeaders("upload-offset"),
  ],
  ["DELETE without version", "part", "DELETE", { "tus-resumable": [] }, undefined, wrongVersion("absent")],
  ["DELETE, storage fails", "broken", "DELETE", {}, undefined, failed(500, STORAGE_ERROR)],
  ["DELETE, expired", "expired", "DELETE", {}, undefined, UPLOAD_EXPIRED],
];
