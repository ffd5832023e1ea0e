import assert from "node:assert/strict";
import { send, TUS, tusCreate } from "../senders.ts";
import type { VideoServer } from "../server.ts";

/** Uploads a file over TUS in one chunk. */
export async function uploadTus(server: VideoServer, file: Buffer): Promise<string> {
  const { uid, path } = await tusCreate(server, file.length);
  const { status, text } = await patch(server, path, 0, file);
  assert.equal(status, 204, text);
  return uid;
}

/** Sends one chunk of an upload. */
export const patch = (
  server: VideoServer,
  path: string,
  offset: number | string,
  body: Buffer,
  headers: Record<string, string> = {},
) =>
  send(`${server.ready.url}${path}`, {
    method: "PATCH",
    headers: { ...TUS, "content-type": "application/offset+octet-stream", "upload-offset": String(offset), ...headers },
    body,
  });

/** Resolves with the offset that the server reports. */
export const offsetOf = async (server: VideoServer, path: string) =>
  Number((await send(`${server.ready.url}${path}`, { method: "HEAD", headers: TUS })).headers["upload-offset"]);
