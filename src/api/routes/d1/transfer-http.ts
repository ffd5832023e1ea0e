import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { UserError, type Log } from "../../../kernel/index.ts";
import type { D1Transfers } from "../../../workers/index.ts";

/** URL prefix for uploading and downloading SQL files: `/d1/transfers/<token>/<filename>`, without Authorization. */
export const D1_TRANSFERS = "/d1/transfers/";

export const transferPath = ({ token, filename }: { token: string; filename: string }): string =>
  `${D1_TRANSFERS}${token}/${encodeURIComponent(filename)}`;

/** Maximum number of bytes drained from a client that keeps sending after a rejection. */
const DRAIN_BYTES = 64 * 1024 * 1024;

/** Handles PUT, GET and HEAD under D1_TRANSFERS. */
export function createD1TransferHttp({
  transfers,
  log,
}: {
  transfers: D1Transfers;
  log: Log;
}): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  async function put(request: IncomingMessage, response: ServerResponse, token: string): Promise<void> {
    if (Number(request.headers["content-length"] ?? 0) > transfers.maxBytes)
      return refuse(
        request,
        response,
        413,
        `The file is larger than ${transfers.maxBytes} bytes. Split it into several.`,
      );
    const uploadedFile = await transfers.upload(token, request);
    if (!uploadedFile) return refuse(request, response, 404, UNKNOWN_LINK_TEXT);
    // The response format of an object store: clients compare the ETag with the announced one.
    response.writeHead(200, { etag: `"${uploadedFile.etag}"`, "content-length": 0 }).end();
  }

  async function get(request: IncomingMessage, response: ServerResponse, token: string): Promise<void> {
    const found = await transfers.download(token);
    if (!found) return refuse(request, response, 404, UNKNOWN_LINK_TEXT);
    response.writeHead(200, {
      ...HEADERS,
      "content-type": "application/sql",
      "content-length": found.file.size,
      "content-disposition": `attachment; filename="${found.filename}"`,
    });
    if (request.method === "HEAD") return void response.end();
    await pipeline(found.file.read(), response);
  }

  return async (request, response) => {
    const token = request.url!.slice(D1_TRANSFERS.length).split(/[/?]/)[0]!;
    try {
      if (request.method === "PUT") await put(request, response, token);
      else if (request.method === "GET" || request.method === "HEAD") await get(request, response, token);
      else
        refuse(request, response, 405, "Use PUT to upload a file and GET to download it.", { allow: "GET, HEAD, PUT" });
    } catch (thrown) {
      // The client disconnected.
      if (response.headersSent || request.socket.destroyed) return void response.destroy();
      const isRefused = thrown instanceof UserError;
      if (!isRefused || thrown.entry.http >= 500) log.error({ err: thrown }, "d1: file transfer failed");
      refuse(
        request,
        response,
        isRefused ? thrown.entry.http : 500,
        isRefused ? `${thrown.message}${thrown.fix ? ` ${thrown.fix}` : ""}` : "Internal error. See the server log.",
      );
    }
  };
}

const UNKNOWN_LINK_TEXT = "Not found: the link is unknown, was already used, or has expired (after one hour).";
const HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/**
 * Drains the rest of the request: a client that is still sending would otherwise see a reset instead of the response.
 */
function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  text: string,
  headers: Record<string, string> = {},
): void {
  response
    .writeHead(status, { ...HEADERS, "content-type": "text/plain; charset=utf-8", connection: "close", ...headers })
    .end(`${text}\n`);
  let left = DRAIN_BYTES;
  request
    .on("data", (chunk: Buffer) => {
      if ((left -= chunk.length) < 0) request.destroy();
    })
    .on("error", () => {});
}
