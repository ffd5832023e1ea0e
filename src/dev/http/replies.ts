import type { ServerResponse } from "node:http";
import type { HandlingResult } from "../../mail/index.ts";

/** Texts of the HTTP endpoints for mail. Test suites compare them, so they never change. */
export const TEXTS = {
  processed: "Worker successfully processed email",
  incomplete:
    "Invalid email. Your request must include URL parameters specifying the `from` and `to` addresses, as well as an email in the body",
  noMessageId: "Email could not be parsed: invalid or no message id provided",
  unparsable: (name: string, message: string) => `Email could not be parsed: ${name}: ${message}`,
  rejected: (reason: string) => `Worker rejected email with the following reason: ${reason}`,
};

export interface HttpReply {
  status: number;
  type: "text/plain; charset=utf-8" | "application/json";
  body: string;
}

export const textReply = (status: number, body: string): HttpReply => ({
  status,
  type: "text/plain; charset=utf-8",
  body,
});

/** Returns the plain response: a known text, or the stack trace of the thrown error. */
export function resultTextReply(handled: HandlingResult): HttpReply {
  if (handled.outcome !== "ok") return textReply(500, failureText(handled));
  if (handled.rejectReason !== undefined) return textReply(400, TEXTS.rejected(handled.rejectReason));
  return textReply(200, TEXTS.processed);
}

/** `format=json`: the actions of the worker, for test suites. A rejection is a result, not a failure. */
export function jsonReply(handled: HandlingResult): HttpReply {
  return {
    status: handled.outcome === "ok" ? 200 : 500,
    type: "application/json",
    body: JSON.stringify(jsonOf(handled)),
  };
}

function jsonOf({ outcome, exception, rejectReason, forwards, replies, events }: HandlingResult) {
  return {
    outcome: outcome === "ok" ? "ok" : "exception",
    ...(rejectReason !== undefined && { rejectReason }),
    forwards,
    replies: replies.map((reply) => ({ ...reply, raw: reply.raw?.toString() ?? "" })),
    events,
    // Additions to the hosted service's texts: which limit was exceeded, and which exception was thrown.
    ...(outcome !== "ok" && { x_outcome: outcome, x_exception: exception }),
  };
}

/** Combines the replies for one message with several recipients: the worst status, and the result of each recipient. */
export function joinReplies(results: { to: string; handled: HandlingResult }[], json: boolean): HttpReply {
  const replies = results.map(({ handled }) => (json ? jsonReply(handled) : resultTextReply(handled)));
  if (replies.length === 1) return replies[0]!;
  const status = Math.max(...replies.map((reply) => reply.status));
  if (json)
    return {
      status,
      type: "application/json",
      body: JSON.stringify({ results: results.map(({ to, handled }) => ({ to, ...jsonOf(handled) })) }),
    };
  if (status === 200) return textReply(200, TEXTS.processed);
  return textReply(status, results.map(({ to }, i) => `${to}: ${replies[i]!.body}`).join("\n"));
}

function failureText({ exception, outcome }: HandlingResult): string {
  if (exception === undefined) return outcome;
  const { name, message, stack } = exception;
  return stack === undefined || !stack.includes(message)
    ? `${name}: ${message}${stack === undefined ? "" : `\n${stack}`}`
    : stack;
}

export function send(response: ServerResponse, { status, type, body }: HttpReply, close = false) {
  response
    .writeHead(status, {
      "content-type": type,
      "content-length": Buffer.byteLength(body),
      ...(close && { connection: "close" }),
    })
    .end(body);
}
