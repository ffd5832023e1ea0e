import { defineErrors } from "../../../kernel/index.ts";

/** 7500 is D1's code of the v4 API. The texts without a place are D1's own (developers.cloudflare.com/d1/observability/debug-d1): clients retry by them. */
export const d1Errors = defineErrors("d1", {
  sql: { code: 7500, http: 400, message: "{text}" },
  tooManyWaiting: { code: 7500, http: 503, message: "D1 DB is overloaded. Too many requests queued.", fix: "Send fewer requests at a time, or make the queries faster with an index." },
  waitedTooLong: { code: 7500, http: 503, message: "D1 DB is overloaded. Requests queued for too long.", fix: "Send fewer requests at a time, or make the queries faster with an index." },
  ranTooLong: { code: 7500, http: 400, message: "D1 DB exceeded its CPU time limit and was reset.", fix: "Split the query, or give it an index: it may run {requestMs} ms." },
  reset: { code: 7500, http: 503, message: "Internal error in D1 DB storage caused object to be reset.", fix: "Try again; look at the log of the server when it stays." },
  requestTooLarge: { code: 7500, http: 413, message: "The request is larger than {requestBytes} bytes.", fix: "Send the statements in several batches." },
  badDatabaseId: { code: 7400, http: 400, message: "{id} is not a usable database id.", fix: "An id has 1 to 128 characters." },
  closed: { code: 7500, http: 503, message: "D1 DB is shutting down." },
});
