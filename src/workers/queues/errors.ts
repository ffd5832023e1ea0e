import { defineErrors } from "../../kernel/index.ts";

/** Errors of queues. A worker sees the message after `Queue send failed: `. */
export const queueErrors = defineErrors("queues", {
  queueMissing: {
    code: 11000,
    http: 404,
    message: "Queue {queue} does not exist.",
    fix: "Run `queues list` to see the queues, or `queues create` to create one.",
  },
  nameTaken: {
    code: 11009,
    http: 409,
    permanent: true,
    message: "Queue name '{name}' is already taken. Please use a different name and try again.",
  },
  badName: {
    code: 11003,
    http: 400,
    message: "{name} is not a valid queue name.",
    fix: "Use 1 to 63 letters, digits, - and _, with a letter or digit at both ends.",
  },
  tooManyQueues: {
    code: 11001,
    http: 403,
    message: "The account already has {limit} queues.",
    fix: "Delete unused queues.",
  },
  badQueueSettings: {
    code: 100128,
    http: 400,
    message: "Invalid queue setting {field}: {value}.",
    fix: "Use {range}.",
  },
  badConsumerSettings: {
    code: 100127,
    http: 400,
    message: "Invalid consumer setting {field}: {value}.",
    fix: "Use {range}.",
  },
  consumerExists: {
    code: 11004,
    http: 409,
    permanent: true,
    message: "Queue {queue} already has a consumer: {consumer}.",
    fix: "Update that consumer, or remove it first: a queue has at most one consumer.",
  },
  consumerMissing: {
    code: 11005,
    http: 404,
    message: "Queue {queue} has no consumer {consumer}.",
    fix: "Run `queues consumer list` to see the consumer.",
  },
  consumerScriptMissing: {
    code: 11006,
    http: 404,
    message: "The consumer {script} does not exist on your account.",
    fix: "Deploy the Worker first.",
  },
  ownDeadLetterQueue: {
    code: 100127,
    http: 400,
    message: "The dead letter queue of {queue} is the queue itself.",
    fix: "Specify a different queue.",
  },
  notPulled: {
    code: 11007,
    http: 405,
    message: "Queue {queue} has no HTTP pull consumer.",
    fix: "Add one with `queues consumer http add`.",
  },
  messageTooLarge: {
    code: 11008,
    http: 413,
    message: "message length of {size} bytes exceeds limit of {limit}",
  },
  tooManyMessages: {
    code: 11008,
    http: 413,
    message: "batch message count of {count} exceeds limit of {limit}",
  },
  batchTooLarge: {
    code: 11008,
    http: 413,
    message: "batch size of {size} bytes exceeds limit of {limit}",
  },
  badDelay: {
    code: 11010,
    http: 400,
    message: "message delay {delay} is invalid: it must be a whole number of seconds from 0 to {limit}",
  },
  badContentType: {
    code: 11011,
    http: 400,
    message: "message content type {type} is invalid; if specified, must be one of 'text', 'json', 'bytes', or 'v8'",
  },
  badMessage: { code: 11012, http: 400, message: "The message is invalid: {reason}.", fix: "{fix}" },
  storageLimitExceeded: {
    code: 11013,
    http: 429,
    message: "Storage Limit Exceeded: queue {queue} holds {size} bytes",
    fix: "Consume or purge the messages in the queue.",
  },
  purgeUnconfirmed: {
    code: 11014,
    http: 400,
    message: "The purge is not confirmed: it would delete all messages in the queue.",
    fix: "Set delete_messages_permanently to true.",
  },
});
