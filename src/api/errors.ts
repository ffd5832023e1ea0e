import { defineErrors } from "../kernel/index.ts";

/** Errors that any request can cause. Clients of the hosted API expect these codes and texts. */
export const apiErrors = defineErrors("api", {
  noCredentials: {
    code: 9106,
    http: 400,
    message: "Missing X-Auth-Key, X-Auth-Email or Authorization headers",
    fix: "Send `Authorization: Bearer <API token>`.",
  },
  badCredentials: {
    code: 6003,
    http: 400,
    message: "Invalid request headers",
    fix: "Send `Authorization: Bearer <API token>`, or both X-Auth-Email and X-Auth-Key.",
  },
  notAuthenticated: {
    code: 10000,
    http: 401,
    message: "Authentication error",
    fix: "Create another API token: this one is unknown, revoked, expired or not valid from this address.",
  },
  notAllowed: {
    code: 9109,
    http: 403,
    message: "Unauthorized to access requested resource",
    fix: "Use an API token with {permission} for this resource.",
  },
  noRoute: { code: 7000, http: 404, message: "No route for that URI" },
  productAbsent: { code: 7000, http: 404, message: "{product} not available on this server." },
  badIdentifier: {
    code: 7003,
    http: 404,
    message: "Could not route to {path}, perhaps your object identifier is invalid?",
  },
  methodNotAllowed: {
    code: 10405,
    http: 405,
    message: "Method not allowed for this URI",
    fix: "Use one of: {allowed}.",
  },
  badRequest: { code: 10001, http: 400, message: "{reason}" },
  badJson: { code: 6007, http: 400, message: "Malformed JSON in request body", fix: "{reason}" },
  tooManyValues: {
    code: 10413,
    http: 413,
    message: "The JSON in the request has more than {limit} values",
    fix: "Split the request.",
  },
  tooDeep: {
    code: 6007,
    http: 400,
    message: "Malformed JSON in request body",
    fix: "Use at most {limit} levels of nesting.",
  },
  brokeOff: { code: 10001, http: 400, message: "The request body is incomplete.", fix: "Send it again." },
  busy: {
    code: 10014,
    http: 503,
    message: "The server is receiving too many large requests",
    fix: "Retry in a few seconds.",
  },
  badMultipart: {
    code: 10021,
    http: 400,
    message: "Malformed multipart/form-data in request body: {reason}",
    fix: "Give every part a Content-Disposition with a name, and end the body with the closing boundary.",
  },
  bodyTooLarge: { code: 10413, http: 413, message: "The request body is larger than {limit} bytes" },
  tooManyRequests: {
    code: 971,
    http: 429,
    message: "Please wait and consider throttling your request speed",
    fix: "Send at most {limit} requests per {seconds} seconds (api.rate_limit).",
  },
  tooManyFailures: {
    code: 971,
    http: 429,
    message: "Please wait and consider throttling your request speed",
    fix: "Check the token, and try again in {retryAfter} seconds. The limit is {limit} failed authentication attempts per network every {seconds} seconds (api.rate_limit).",
  },
  tooManyListeners: {
    code: 971,
    http: 429,
    message: "Too many clients are listening for events",
    fix: "Close unused clients: at most {limit} connections are served.",
  },
  internal: {
    code: 10013,
    http: 500,
    message: "An unknown error has occurred. Search the server's log for request id {id}",
  },
});
