import { defineErrors } from "../../kernel/index.ts";

export const activityErrors = defineErrors("email log", {
  noEntry: {
    code: 10000,
    http: 404,
    message: "There is no log entry {id}",
    fix: "List the log for the ids there are. Entries are deleted after the days that email.log_days says.",
  },
  badCursor: {
    code: 10001,
    http: 400,
    message: "The cursor is not one of this list",
    fix: "Give the cursor of the page before, as it was given.",
  },
  tooMany: {
    code: 10001,
    http: 400,
    message: "More than {limit} messages lie in the time that is asked for",
    fix: "Ask for a shorter time: narrow datetime_geq and datetime_leq.",
  },
  // The code and text of the published table of Email Sending.
  noMessage: {
    code: 10000,
    http: 404,
    message: "email.sending.error.not_found",
    fix: "The content of messages is kept for {days} days, where the domain they are sent from has previews enabled.",
  },
});
