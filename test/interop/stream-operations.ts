import assert from "node:assert/strict";
import type { VideoPlatform } from "./video-platform.ts";

// Documented operations of video on demand, by the tests that request them. `{}` is a parameter.

const STREAM = "/accounts/{}/stream";

/** Videos, watermark profiles and the webhook. */
export const VIDEO_OPERATIONS = [
  ...["GET", "POST"].map((method) => `${method} ${STREAM}`),
  ...["clip", "copy", "direct_upload"].map((word) => `POST ${STREAM}/${word}`),
  `GET ${STREAM}/storage-usage`,
  ...["GET", "POST"].map((method) => `${method} ${STREAM}/watermarks`),
  ...["GET", "DELETE"].map((method) => `${method} ${STREAM}/watermarks/{}`),
  ...["GET", "PUT", "DELETE"].map((method) => `${method} ${STREAM}/webhook`),
  ...["GET", "POST", "DELETE"].map((method) => `${method} ${STREAM}/{}`),
  `GET ${STREAM}/{}/embed`,
];

export const CAPTION_OPERATIONS = [
  `GET ${STREAM}/{}/captions`,
  ...["GET", "PUT", "DELETE"].map((method) => `${method} ${STREAM}/{}/captions/{}`),
  `POST ${STREAM}/{}/captions/{}/generate`,
  `GET ${STREAM}/{}/captions/{}/vtt`,
];

export const AUDIO_OPERATIONS = [
  `GET ${STREAM}/{}/audio`,
  `POST ${STREAM}/{}/audio/copy`,
  ...["PATCH", "DELETE"].map((method) => `${method} ${STREAM}/{}/audio/{}`),
];

export const DOWNLOAD_OPERATIONS = [
  ...["GET", "POST", "DELETE"].map((method) => `${method} ${STREAM}/{}/downloads`),
  ...["POST", "DELETE"].map((method) => `${method} ${STREAM}/{}/downloads/{}`),
];

export const SIGNING_OPERATIONS = [
  ...["GET", "POST"].map((method) => `${method} ${STREAM}/keys`),
  `DELETE ${STREAM}/keys/{}`,
  `POST ${STREAM}/{}/token`,
];

/** All documented operations of video on demand. */
export const OPERATIONS = [
  ...VIDEO_OPERATIONS,
  ...CAPTION_OPERATIONS,
  ...AUDIO_OPERATIONS,
  ...DOWNLOAD_OPERATIONS,
  ...SIGNING_OPERATIONS,
];

const PATTERNS = OPERATIONS.toSorted((a, b) => a.split("{}").length - b.split("{}").length).map((operation) => ({
  operation,
  pattern: new RegExp(`^${operation.replaceAll("{}", "[^/]+")}$`),
}));

/** Fails unless each of these operations succeeded, and every response so far matched the published schema. */
export function assertRequested(
  { requests, problems }: Pick<VideoPlatform, "requests" | "problems">,
  operations: string[],
): void {
  const answered = new Set(
    requests
      .filter(({ status }) => status < 300)
      .map(({ method, path }) => PATTERNS.find(({ pattern }) => pattern.test(`${method} ${path}`))?.operation),
  );
  assert.deepEqual(
    operations.filter((operation) => !answered.has(operation)),
    [],
  );
  assert.deepEqual(problems, []);
}
