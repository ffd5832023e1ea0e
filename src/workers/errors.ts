import { defineErrors } from "../kernel/index.ts";

/** Everything that can be wrong with a worker or with what is asked of one. */
export const workerErrors = defineErrors("workers", {
  scriptRefused: {
    code: 10021,
    http: 400,
    message: "The worker {script} could not be started: {reason}",
    fix: "Correct the code: the worker fails while it starts, before any message or request.",
  },
  scriptMissing: { code: 10007, http: 404, message: "This Worker does not exist on your account.", fix: "Deploy {script} first." },
  runtimeMissing: {
    code: 10001,
    http: 500,
    message: "workerd, the worker runtime, cannot be run: {reason}",
    fix: "Run `npm ci` again without --omit=optional: workerd ships as an optional package for each platform.",
  },
  closing: { code: 10013, http: 503, smtp: 421, enhanced: "4.3.2", message: "The server is shutting down.", fix: "Try again in a moment." },
  tooManyProcesses: {
    code: 10013,
    http: 503,
    smtp: 451,
    enhanced: "4.3.2",
    message: "All {count} worker processes are busy.",
    fix: "Try again, or raise the limit on worker processes.",
  },
});
