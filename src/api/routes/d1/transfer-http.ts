import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { UserError, type Log } from "../../../kernel/index.ts";
import type { D1Transfers } from "../../../workers/index.ts";

/** Below it are the URLs that files of SQL are sent to and fetched from: `/d1/transfers/<token>/<filename>`, without Authorization. */
export const D1_TRANSFERS = "/d1/transfers/";

export const transferPath = ({ token, filename }: { token: string; filename: string }): string =>
  `${D1_TRANSFERS}${token}/${encodeURIComponent(filename)}`;

/** What a client that sends on after a refusal may send before it loses the connection. */
const DRAIN_BYTES = 64 * 1024 * 1024;

/** Answers PUT, GET and HEAD below D1_TRANSFERS. */
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
    const taken = await transfers.upload(token, request);
    if (!taken) return refuse(request, response, 404, UNKNOWN);
    // The form of an object store's answer: clients compare it with what they announced.
    response.writeHead(200, { etag: `"${taken.etag}"`, "content-length": 0 }).end();
  }

  async function get(request: IncomingMessage, response: ServerResponse, token: string): Promise<void> {
    const found = await transfers.download(token);
    if (!found) return refuse(request, response, 404, UNKNOWN);
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
      else refuse(request, response, 405, "A file is sent with PUT and fetched with GET.", { allow: "GET, HEAD, PUT" });
    } catch (thrown) {
      // The client went away.
      if (response.headersSent || request.socket.destroyed) return void response.destroy();
      const refused = thrown instanceof UserError;
      if (!refused || thrown.entry.http >= 500) log.error({ err: thrown }, "d1: a file was not transferred");
      refuse(
        request,
        response,
        refused ? thrown.entry.http : 500,
        refused ? `${thrown.message}${thrown.fix ? ` ${thrown.fix}` : ""}` : "The server failed. Its log tells why.",
      );
    }
  };
}

const UNKNOWN = "There is nothing here: the link is not known, was used, or is older than an hour.";
const HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/** The rest of the request is read and forgotten: a client that is still sending would see a broken connection instead of the answer. */
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
