import type { IncomingMessage } from "node:http";
import { defineErrors } from "../../kernel/index.ts";
import type { Call } from "../operation.ts";

const bodyErrors = defineErrors("body", {
  brokeOff: { code: 10001, http: 400, message: "The request body is incomplete.", fix: "Send it again." },
});

/** `Content-Length` of a request; undefined for chunked encoding. */
export const sentLength = ({ node }: Pick<Call, "node">): number | undefined => {
  const length = node.incoming.headers["content-length"];
  return length === undefined ? undefined : Number(length);
};

/**
 * Passes a body to `work` as it arrives, without buffering. `work` may leave it unread: the connection remains open for
 * the response, and the server discards the rest. If the token is revoked meanwhile, the body fails at its end, before
 * `work` can store it.
 */
export async function withSentBody<Result>(
  { node: { incoming }, confirm }: Pick<Call, "node"> & { confirm(): Promise<unknown> },
  work: (body: AsyncIterable<Uint8Array>) => Promise<Result>,
): Promise<Result> {
  const chunks = (incoming as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  try {
    // The iterator has no return(): leaving it early would destroy the request and its connection.
    return await work({ [Symbol.asyncIterator]: () => ({ next: () => nextOf(chunks, incoming, confirm) }) });
  } finally {
    // An abandoned iterator leaves its listener behind, which would stop the stream from flowing.
    if (!incoming.readableEnded) incoming.removeAllListeners("readable");
  }
}

async function nextOf(
  chunks: AsyncIterator<Uint8Array>,
  incoming: IncomingMessage,
  confirm: () => Promise<unknown>,
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
