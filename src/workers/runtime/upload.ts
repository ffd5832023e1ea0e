import type { ClientRequest, IncomingMessage } from "node:http";

/**
 * Forwards a request body. A peer may respond before it has read the whole body and continue reading: a worker that
 * passes a body through responds with the start of it. Forwarding ends only on an error response (4xx, 5xx) or when the
 * peer closes the connection; the rest is then read and discarded (RFC 9112 9.3). Unlike a pipeline it never destroys
 * `request`, whose connection is still needed for the response.
 */
export function forwardRequestBody(request: IncomingMessage, upstreamRequest: ClientRequest): void {
  let isStopped = false;
  let hasEnded = false;
  let isWriting = false;
  const stop = () => {
    isStopped = true;
    request.resume();
  };
  const onWritten = () => {
    isWriting = false;
    if (!hasEnded) request.resume();
    else if (!isStopped) upstreamRequest.end();
  };
  upstreamRequest.once("response", ({ statusCode = 0 }) => {
    if (statusCode >= 400) stop();
  });
  upstreamRequest.once("close", stop).on("error", stop);
  request
    .on("data", (chunk: Buffer) => {
      if (isStopped) return;
      request.pause();
      isWriting = true;
      upstreamRequest.write(chunk, onWritten);
    })
    .once("end", () => {
      hasEnded = true;
      if (!isWriting && !isStopped) upstreamRequest.end();
    })
    .on("error", () => upstreamRequest.destroy());
}
