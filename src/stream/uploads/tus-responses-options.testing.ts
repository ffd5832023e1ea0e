import { CORS_HEADERS, type TusCase, type TusResponse } from "./tus-responses.testing.ts";

const OPTIONS: TusResponse = [
  204,
  {
    ...CORS_HEADERS,
    "access-control-allow-methods": "POST, HEAD, PATCH, DELETE, OPTIONS, GET",
    "access-control-max-age": "86400",
    "access-control-allow-headers":
      "Authorization, Content-Type, Tus-Resumable, Upload-Concat, Upload-Creator, Upload-Defer-Length, Upload-Length, Upload-Metadata, Upload-Offset, X-HTTP-Method-Override, X-Request-ID, X-Requested-With",
    "tus-resumable": "1.0.0",
    "tus-version": "1.0.0",
    "tus-extension": "creation,creation-with-upload,creation-defer-length,expiration,termination",
    "tus-max-size": "16384",
  },
];

/** OPTIONS, and a method that is not supported. */
export const OPTIONS_CASES: TusCase[] = [
  ["a preflight", "new", "OPTIONS", { "tus-resumable": [], origin: "https://example.com" }, undefined, OPTIONS],
  ["OPTIONS with another version", "new", "OPTIONS", { "tus-resumable": "0.2.2" }, undefined, OPTIONS],
  ["OPTIONS by POST", "new", "POST", { "x-http-method-override": "OPTIONS" }, undefined, OPTIONS],
  [
    "PUT",
    "part",
    "PUT",
    {},
    "x",
    [405, { ...CORS_HEADERS, allow: "POST, HEAD, PATCH, DELETE, OPTIONS, GET", "transfer-encoding": "chunked" }],
  ],
];
