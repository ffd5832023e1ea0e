import type { ClientRequest, IncomingMessage } from "node:http";

/**
 * Forwards a request body. A peer may respond before it has read the whole body and continue reading: a worker that
 * passes a body through responds with the start of it. Forwarding ends only on an error response (4xx, 5xx) or when the
 * peer closes the connection; the rest is then read and discarded (RFC 9112 9.3). Unlike a pipeline it never destroys
 * `request`, whose connection is still needed for the response.
 */
export function upload(request: IncomingMessage, outgoing: ClientRequest): void {
  let over = false;
  let ended = false;
  let writing = false;
  const stop = () => {
    over = true;
    request.resume();
  };
  const written = () => {
    writing = false;
    if (!ended) request.resume();
    else if (!over) outgoing.end();
  };
  outgoing.once("response", ({ statusCode = 0 }) => {
    if (statusCode >= 400) stop();
  });
  outgoing.once("close", stop).on("error", stop);
  request
    .on("data", (chunk: Buffer) => {
      if (over) return;
      request.pause();
      writing = true;
      outgoing.write(chunk, written);
    })
    .once("end", () => {
      ended = true;
      if (!writing && !over) outgoing.end();
    })
    .on("error", () => outgoing.destroy());
}
