import type { ClientRequest, IncomingMessage } from "node:http";

/**
 * Sends the body of a request on. A peer may answer before it has read all of it: from then on nothing more is sent, and the rest is read
 * and forgotten. Unlike a pipeline it never destroys `request`, whose connection the answer still needs.
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
  outgoing.once("response", stop).once("close", stop).on("error", stop);
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
