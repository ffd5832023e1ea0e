import { defineErrors } from "../../../kernel/index.ts";

/** 7500 is D1's code of the v4 API. The texts without a place are D1's own (developers.cloudflare.com/d1/observability/debug-d1): clients retry by them. */
export const d1Errors = defineErrors("d1", {
  sql: { code: 7500, http: 400, message: "{text}" },
  tooManyWaiting: {
    code: 7500,
    http: 503,
    message: "D1 DB is overloaded. Too many requests queued.",
    fix: "Send fewer requests at a time, or make the queries faster with an index.",
  },
  waitedTooLong: {
    code: 7500,
    http: 503,
    message: "D1 DB is overloaded. Requests queued for too long.",
    fix: "Send fewer requests at a time, or make the queries faster with an index.",
  },
  ranTooLong: {
    code: 7500,
    http: 400,
    message: "D1 DB exceeded its CPU time limit and was reset.",
    fix: "Split the query, or give it an index: it may run {requestMs} ms.",
  },
  reset: {
    code: 7500,
    http: 503,
    message: "Internal error in D1 DB storage caused object to be reset.",
    fix: "Try again; look at the log of the server when it stays.",
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
    message: "{id} is not a usable database id.",
    fix: "An id has 1 to 128 characters.",
  },
  importing: {
    code: 7500,
    http: 503,
    message: "Currently processing a long-running import.",
    fix: "Try again when it is done.",
  },
  exporting: {
    code: 7500,
    http: 409,
    message: "Currently processing a long-running export.",
    fix: "Try again when it is done.",
  },
  transferTooLong: {
    code: 7500,
    http: 400,
    message: "The transfer took longer than {transferMs} ms and was stopped.",
    fix: "Split the file: what was imported of it is undone.",
  },
  tooManyTransfers: {
    code: 7500,
    http: 429,
    message: "More than {limit} files of this database wait to be fetched or imported.",
    fix: "They are removed within the hour; try again then.",
  },
  transferMissing: {
    code: 7500,
    http: 400,
    message: "There is no {kind} of this database at bookmark {bookmark}.",
    fix: "Begin it again: what came of it is kept for an hour.",
  },
  nothingToExport: {
    code: 7400,
    http: 400,
    message: "Neither the schema nor the rows are to be exported.",
    fix: "Leave out no_schema or no_data.",
  },
  badEtag: { code: 7400, http: 400, message: "The etag is not the MD5 of a file, as 32 hex digits." },
  notUploaded: {
    code: 7500,
    http: 400,
    message: "The file {filename} was not uploaded, or it was imported already.",
    fix: "Begin again with the action init, and send the file to the upload_url.",
  },
  otherContent: {
    code: 7500,
    http: 400,
    message: "The file that arrived is not the one that was announced: its MD5 is {found}, announced was {announced}.",
    fix: "Send it again.",
  },
  fileTooLarge: {
    code: 7500,
    http: 413,
    message: "The file is larger than {importBytes} bytes.",
    fix: "Split it into several.",
  },
  databaseNotFound: {
    code: 7404,
    http: 404,
    message: "The database {id} could not be found",
    fix: "`d1 list` shows the databases of the account.",
  },
  nameTaken: {
    code: 7502,
    http: 400,
    message: "Database with name '{name}' already exists",
    fix: "Choose another name, or delete that one first.",
  },
  badName: {
    code: 7400,
    http: 400,
    message: "{name} is not a valid name for a database.",
    fix: "A name has 1 to {longest} of A-Z a-z 0-9 - _, and begins with none of the last two.",
  },
  tooManyDatabases: {
    code: 7406,
    http: 403,
    message: "You have reached the maximum number of databases for your account: {limit}.",
    fix: "Delete those that are not needed, or raise the limit.",
  },
  noHistory: {
    code: 7500,
    http: 400,
    message: "Time Travel is not available: this server keeps no history of a database.",
    fix: "Export it regularly, and import the export you want back.",
  },
  elsewhere: {
    code: 7500,
    http: 503,
    message: "The databases are kept by another process of this installation, and cannot be reached from here.",
    fix: "Ask the process with the role that runs workers.",
  },
  closed: { code: 7500, http: 503, message: "D1 DB is shutting down." },
});
