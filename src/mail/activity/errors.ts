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
    message: "The time range has more than {limit} points",
    fix: "Shorten it with since and until, or use time_delta=day.",
  },
  // Code and text as in the published error table of Email Sending.
  noMessage: {
    code: 10000,
    http: 404,
    message: "email.sending.error.not_found",
    fix: "Message contents are kept for {days} days, if previews are enabled for the sending domain.",
  },
});
