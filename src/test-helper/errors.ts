import { defineErrors } from "../kernel/index.ts";

/** Errors of the test helper that the host process detects. */
export const testHelperErrors = defineErrors("test", {
  serverClosed: {
    code: "server_closed",
    http: 409,
    message: "The test server is closed.",
    fix: "Call close() only after the last use of the server, or start another one with createServer().",
  },
  resetImpossible: {
    code: "reset_impossible",
    http: 409,
    message: "reset() does not delete the storage in {dataDir}.",
    fix: "Omit the option `dataDir`. The server then uses a temporary folder.",
  },
  buildFailed: {
    code: "build_failed",
    http: 400,
    message: "The worker {worker} failed to build: {reason}",
    fix: "Correct the file, or select another configuration with `config`.",
  },
  seedMissing: {
    code: "seed_missing",
    http: 400,
    message: "No file matches the seed {pattern} in {dir}.",
    fix: "Correct `seeds`, or set `dir` to the folder that the pattern is relative to.",
  },
  messageTimeout: {
    code: "message_timeout",
    http: 408,
    message: "No message matched {filter} within {timeout} ms. {inbox}",
    fix: "Check the log of the worker with getLogs(), or wait longer with `timeout`.",
  },
  timeoutTooLong: {
    code: "timeout_too_long",
    http: 400,
    message: "A timeout of {timeout} ms is out of range.",
    fix: "Set `timeout` to a number from 0 to {max}.",
  },
  tooManyCronRuns: {
    code: "too_many_cron_runs",
    http: 400,
    message: "advance() would run more than {max} cron triggers.",
    fix: "Advance the clock in smaller steps, or call worker.scheduled().",
  },
  durationInvalid: {
    code: "duration_invalid",
    http: 400,
    message: "The clock cannot be advanced by {duration} ms.",
    fix: "Pass a positive number of milliseconds, or an object such as { hours: 1 }.",
  },
  replyInvalid: {
    code: "reply_invalid",
    http: 400,
    message: "{reply} is not a failure reply.",
    fix: 'Pass a code from 400 to 599, optionally with an enhanced code and text: "451 4.7.1 Try again later".',
  },
  faultInvalid: {
    code: "fault_invalid",
    http: 400,
    message: "{value} is not a valid {name}.",
    fix: "Pass a positive whole number.",
  },
  videoFailed: {
    code: "video_failed",
    http: 400,
    message: "The video {uid} failed: {reason}",
    fix: "Upload a file that ffmpeg can decode. `reelpost doctor` checks the installation of ffmpeg.",
  },
  videoTimeout: {
    code: "video_timeout",
    http: 408,
    message: "The video {uid} was not ready to stream within {timeout} ms; its state is {state}.",
    fix: "Upload a shorter video, or wait longer with `timeout`.",
  },
  videoRequestFailed: {
    code: "video_request_failed",
    http: 400,
    message: "The server rejected the request for the video: {reason}",
    fix: "Pass a video file, or the uid that upload() returned.",
  },
});
