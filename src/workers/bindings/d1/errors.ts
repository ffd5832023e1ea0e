import { defineErrors } from "../../../kernel/index.ts";

/**
 * 7500 is D1's code in the v4 API. The messages without placeholders are D1's own
 * (developers.cloudflare.com/d1/observability/debug-d1): clients use them to decide whether to retry.
 */
export const d1Errors = defineErrors("d1", {
  sql: { code: 7500, http: 400, message: "{text}" },
  tooManyWaiting: {
    code: 7500,
    http: 503,
    message: "D1 DB is overloaded. Too many requests queued.",
    fix: "Send fewer concurrent requests, or add an index to speed up the queries.",
  },
  waitedTooLong: {
    code: 7500,
    http: 503,
    message: "D1 DB is overloaded. Requests queued for too long.",
    fix: "Send fewer concurrent requests, or add an index to speed up the queries.",
  },
  ranTooLong: {
    code: 7500,
    http: 400,
    message: "D1 DB exceeded its CPU time limit and was reset.",
    fix: "Split the query, or add an index: the limit is {requestMs} ms.",
  },
  reset: {
    code: 7500,
    http: 503,
    message: "Internal error in D1 DB storage caused object to be reset.",
    fix: "Retry. If the error persists, check the server's log.",
  },
  requestTooLarge: {
    code: 7500,
    http: 413,
    message: "The request is larger than {requestBytes} bytes.",
    fix: "Send the statements in several batches.",
  },
  badDatabaseId: {
    code: 7400,
    http: 400,
    message: "Invalid database id {id}.",
    fix: "Use 1 to 128 characters.",
  },
  importing: {
    code: 7500,
    http: 503,
    message: "Currently processing a long-running import.",
    fix: "Retry when it finishes.",
  },
  exporting: {
    code: 7500,
    http: 409,
    message: "Currently processing a long-running export.",
    fix: "Retry when it finishes.",
  },
  transferTooLong: {
    code: 7500,
    http: 400,
    message: "The transfer took longer than {transferMs} ms and was stopped.",
    fix: "Split the file and import it again. The partial import was rolled back.",
  },
  tooManyTransfers: {
    code: 7500,
    http: 429,
    message: "More than {limit} import or export files for this database are pending.",
    fix: "Retry in an hour, when these files have expired.",
  },
  transferMissing: {
    code: 7500,
    http: 400,
    message: "This database has no {kind} with the bookmark {bookmark}.",
    fix: "Start again: results are kept for an hour.",
  },
  nothingToExport: {
    code: 7400,
    http: 400,
    message: "The export excludes both schema and rows.",
    fix: "Omit no_schema or no_data.",
  },
  badEtag: { code: 7400, http: 400, message: "The etag is not an MD5 hash of 32 hexadecimal digits." },
  notUploaded: {
    code: 7500,
    http: 400,
    message: "The file {filename} was not uploaded or was already imported.",
    fix: "Start again with the action init, and upload the file to upload_url.",
  },
  otherContent: {
    code: 7500,
    http: 400,
    message: "The uploaded file does not match the declared MD5: expected {announced}, received {found}.",
    fix: "Send it again.",
  },
  fileTooLarge: {
    code: 7500,
    http: 413,
    message: "The file exceeds {importBytes} bytes.",
    fix: "Split the file.",
  },
  databaseNotFound: {
    code: 7404,
    http: 404,
    message: "The database {id} could not be found",
    fix: "List the databases of the account with `d1 list`.",
  },
  idTaken: {
    code: 7502,
    http: 409,
    permanent: true,
    message: "A database with the id {id} already exists, or was deleted within the last hour",
    fix: "Use another id, or omit the Reelpost-Id header.",
  },
  nameTaken: {
    code: 7502,
    http: 400,
    message: "Database with name '{name}' already exists",
    fix: "Choose another name, or delete that database first.",
  },
  badName: {
    code: 7400,
    http: 400,
    message: "{name} is not a valid name for a database.",
    fix: "Use 1 to {longest} characters from A-Z a-z 0-9 - _, not beginning with - or _.",
  },
  tooManyDatabases: {
    code: 7406,
    http: 403,
    message: "You have reached the maximum number of databases for your account: {limit}.",
    fix: "Delete unused databases.",
  },
  noHistory: {
    code: 7500,
    http: 400,
    message: "Time Travel is not available: this server keeps only the current state of a database.",
    fix: "Save the database with `wrangler d1 export`, and restore it with `wrangler d1 execute --file`.",
  },
  elsewhere: {
    code: 7500,
    http: 503,
    message: "The databases are served by another process of this installation.",
    fix: "Send the request to a process with the role workers.",
  },
  closed: { code: 7500, http: 503, message: "D1 DB is shutting down." },
});
