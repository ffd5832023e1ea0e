import type { ClientRequest, IncomingMessage } from "node:http";

/**
 * Sends the body of a request on. A peer may answer before it has read all of it, and go on reading: what passes a body through answers with
 * its beginning. Only an answer that refuses (4xx, 5xx) ends the sending, as does a peer that hangs up; the rest is then read and
 * forgotten (RFC 9112 9.3). Unlike a pipeline it never destroys `request`, whose connection the answer still needs.
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
