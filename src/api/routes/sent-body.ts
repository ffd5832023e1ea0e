import type { IncomingMessage } from "node:http";
import { defineErrors } from "../../kernel/index.ts";
import type { Call } from "../operation.ts";

const bodyErrors = defineErrors("body", {
  brokeOff: { code: 10001, http: 400, message: "The request body is incomplete.", fix: "Send it again." },
});

/** `Content-Length` of a request, or undefined where it is sent in chunks. */
export const sentLength = ({ node }: Pick<Call, "node">): number | undefined => {
  const length = node.incoming.headers["content-length"];
  return length === undefined ? undefined : Number(length);
};

/**
 * Gives a body to `work` as it arrives, never held whole. `work` may leave it unread: the connection then lives on for the answer, and what
 * is still coming is thrown away by the server. A token that is revoked meanwhile makes the body fail at its end, before `work` can keep it.
 */
export async function withSentBody<Result>(
  { node: { incoming }, confirm }: Pick<Call, "node" | "confirm">,
  work: (body: AsyncIterable<Uint8Array>) => Promise<Result>,
): Promise<Result> {
  const chunks = (incoming as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  try {
    // Without a return(): an iterator that is left early would destroy the request, and with it the connection.
    return await work({ [Symbol.asyncIterator]: () => ({ next: () => nextOf(chunks, incoming, confirm) }) });
  } finally {
    // An iterator that was left early still listens, and a stream that is listened to that way does not flow.
    if (!incoming.readableEnded) incoming.removeAllListeners("readable");
  }
}

async function nextOf(
  chunks: AsyncIterator<Uint8Array>,
  incoming: IncomingMessage,
  confirm: Call["confirm"],
): Promise<IteratorResult<Uint8Array, undefined>> {
  let next: IteratorResult<Uint8Array, undefined>;
  try {
    next = (await chunks.next()) as IteratorResult<Uint8Array, undefined>;
  } catch (err) {
    if (incoming.destroyed) throw bodyErrors.brokeOff({}, { cause: err });
    throw err;
  }
  if (next.done === true) await confirm();
  return next;
}
