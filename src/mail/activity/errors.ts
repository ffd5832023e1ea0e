import { defineErrors } from "../../kernel/index.ts";

export const activityErrors = defineErrors("email log", {
  noEntry: {
    code: 10000,
    http: 404,
    message: "There is no log entry {id}",
    fix: "List the log to find valid ids. Entries are deleted after email.log_days days.",
  },
  badCursor: {
    code: 10001,
    http: 400,
    message: "The cursor does not belong to this list",
    fix: "Pass the cursor of the previous page unchanged.",
  },
  tooMany: {
    code: 10001,
    http: 400,
    message: "The time range contains more than {limit} messages",
    fix: "Narrow the range with datetime_geq and datetime_leq.",
  },
  tooManyPoints: {
    code: 10001,
    http: 400,
    message: "The time range contains more than {limit} data points",
    fix: "Shorten it with since and until, or use time_delta=day.",
  },
  notStored: {
    code: 10000,
    http: 404,
    message: "The content of the message is not stored",
    fix: "Set email.store_days to keep the content of received messages. Sent messages are kept for 7 days, if previews are enabled for the sending domain.",
  },
  noAttachment: {
    code: 10000,
    http: 404,
    message: "The message has no attachment {index}",
    fix: "Get the content of the message to list its attachments.",
  },
  unreadable: {
    code: 10001,
    http: 422,
    message: "Failed to parse the message: {reason}",
    fix: "Download the raw message instead.",
  },
  workerMissing: {
    code: 10001,
    http: 404,
    message: "The worker {worker} does not exist",
    fix: "List the workers of the account to find valid names.",
  },
  noWorker: {
    code: 10001,
    http: 400,
    message: "No worker handled this message",
    fix: "Set the field `worker` to the worker to run.",
  },
  // Code and text as in the published error table of Email Sending.
  noMessage: {
    code: 10000,
    http: 404,
    message: "email.sending.error.not_found",
    fix: "Enable previews for the sending domain: the server then keeps the contents of later messages for {days} days.",
  },
});
