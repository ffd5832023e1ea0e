import { defineErrors } from "../kernel/index.ts";

/** What is wrong with a request whatever it asks for. Codes and texts are those clients know from the hosted API. */
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
    fix: "The form is `Authorization: Bearer <API token>`, or both X-Auth-Email and X-Auth-Key.",
  },
  notAuthenticated: {
    code: 10000,
    http: 401,
    message: "Authentication error",
    fix: "The API token is unknown, revoked, expired or not valid from this address: make a new one.",
  },
  notAllowed: {
    code: 9109,
    http: 403,
    message: "Unauthorized to access requested resource",
    fix: "The API token needs {permission} for this resource.",
  },
  noRoute: { code: 7000, http: 404, message: "No route for that URI" },
  badIdentifier: {
    code: 7003,
    http: 404,
    message: "Could not route to {path}, perhaps your object identifier is invalid?",
  },
  methodNotAllowed: { code: 10405, http: 405, message: "Method not allowed for this URI", fix: "It takes {allowed}." },
  badRequest: { code: 10001, http: 400, message: "{reason}" },
  badJson: { code: 6007, http: 400, message: "Malformed JSON in request body", fix: "{reason}" },
  tooManyValues: {
    code: 10413,
    http: 413,
    message: "The JSON in the request has more than {limit} values",
    fix: "Send it in several requests.",
  },
  tooDeep: {
    code: 6007,
    http: 400,
    message: "Malformed JSON in request body",
    fix: "It is nested more than {limit} deep.",
  },
  brokeOff: { code: 10001, http: 400, message: "The request ended before its body did.", fix: "Send it again." },
  busy: {
    code: 10014,
    http: 503,
    message: "The server is taking in as much as it can at once",
    fix: "Try again in a moment.",
  },
  badMultipart: {
    code: 10021,
    http: 400,
    message: "Malformed multipart/form-data in request body: {reason}",
    fix: "Every part needs a Content-Disposition with a name, and the body ends with the closing boundary.",
  },
  bodyTooLarge: { code: 10413, http: 413, message: "The request body is larger than {limit} bytes" },
  tooManyRequests: {
    code: 971,
    http: 429,
    message: "Please wait and consider throttling your request speed",
    fix: "{limit} requests are allowed in {seconds} seconds; api.rate_limit changes that.",
  },
  tooManyFailures: {
    code: 971,
    http: 429,
    message: "Please wait and consider throttling your request speed",
    fix: "At most {limit} failed authentication attempts per network are allowed every {seconds} seconds (api.rate_limit).",
  },
  internal: {
    code: 10013,
    http: 500,
    message: "An unknown error has occurred. The server's log has it under request id {id}",
  },
});
