import { defineErrors } from "../../kernel/index.ts";

export const tailErrors = defineErrors("tails", {
  badFilter: {
    code: 10001,
    http: 400,
    message: "Invalid tail filter: {reason}",
    fix: "Use one of: outcome, sampling_rate, method, header, client_ip, query, scriptVersion.",
  },
  tooManyTails: {
    code: 10058,
    http: 429,
    message: "{script} has reached the maximum of {limit} tails.",
    fix: "Close one of them: a tail counts toward the limit while a client is connected to it.",
  },
  tooManyReaders: {
    code: 10013,
    http: 503,
    message: "This server has reached the maximum of {limit} tail clients.",
    fix: "Try again later.",
  },
  tailMissing: { code: 10057, http: 404, message: "This tail does not exist or has expired.", fix: "Start a new one." },
});
