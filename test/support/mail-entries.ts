import type { Entry } from "../../src/mail/activity/types.ts";

/** The log entry of a message that a rule forwarded. */
export const forwardedEntry = (
  change: Pick<Entry, "id" | "message" | "account" | "zone" | "at"> & Partial<Entry>,
): Entry => ({
  kind: "routing",
  changedAt: change.at,
  from: "sender@there.example",
  to: "box@here.example",
  subject: "Order 1",
  headerId: "<1@there.example>",
  status: "delivered",
  action: "forward",
  origin: "incoming",
  rule: "rule",
  script: null,
  spf: "pass",
  dkim: "pass",
  dmarc: "pass",
  arc: "none",
  errorCause: null,
  error: null,
  isNdr: false,
  isSpam: false,
  spamScore: null,
  spamThreshold: null,
  size: 12_000,
  ip: "192.0.2.1",
  deliveries: [],
  events: [],
  answer: null,
  ...change,
});
