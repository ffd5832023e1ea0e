import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { request, type IncomingHttpHeaders } from "node:http";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { TOKEN } from "../../e2e/serve-client.ts";
import type { VideoServer } from "./server.ts";

interface Heard {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

interface Sent {
  method: string;
  headers?: Record<string, string>;
  body?: Buffer | AsyncIterable<Uint8Array>;
}

/** The connection ended before a response arrived. */
export class ConnectionCutError extends Error {
  override readonly name = "ConnectionCutError";
}

/** Sends one request on a new connection. Rejects with ConnectionCutError. */
export function send(url: string, { method, headers = {}, body }: Sent): Promise<Heard> {
  return new Promise((resolve, reject) => {
    const cut = (err: unknown) => reject(new ConnectionCutError(`${method} ${url}`, { cause: err }));
    const outgoing = request(
      url,
      {
        method,
        headers: { ...(Buffer.isBuffer(body) && { "content-length": String(body.length) }), ...headers },
        agent: false,
      },
      (response) => {
        text(response).then(
          (words) => resolve({ status: response.statusCode!, headers: response.headers, text: words }),
          cut,
        );
      },
    ).on("error", cut);
    if (body === undefined || Buffer.isBuffer(body)) return void outgoing.end(body);
    pipeline(Readable.from(body), outgoing).catch(cut);
  });
}

/**
 * Resolves with the MP4 file enlarged by this many bytes: a `free` box at its end, which readers skip (ISO 14496-12
 * 8.1.2).
 */
export async function padded(path: string, octets: number): Promise<Buffer> {
  const box = Buffer.alloc(octets);
  box.writeUInt32BE(octets, 0);
  box.write("free", 4, "latin1");
  return Buffer.concat([await readFile(path), box]);
}

/**
 * Simulates a slow connection: sends chunks of 64 KiB with pauses, some of them long enough for the sent data to be
 * stored.
 */
export async function* slowly(bytes: Buffer, pause: (sent: number) => number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 65_536) {
    yield bytes.subarray(at, at + 65_536);
    await sleep(pause(at));
  }
}

export const AUTHORIZATION = { authorization: `Bearer ${TOKEN}` };
export const TUS = { "tus-resumable": "1.0.0" };

export const tusAt = ({ ready }: Pick<VideoServer, "ready">) => `${ready.api}/accounts/${ready.account!.id}/stream`;

/** Creates an upload and returns its URL without the host, which may change. */
export async function tusCreate(
  server: Pick<VideoServer, "ready">,
  length: number,
  headers: Record<string, string> = {},
): Promise<{ uid: string; path: string }> {
  const answer = await send(tusAt(server), {
    method: "POST",
    headers: { ...AUTHORIZATION, ...TUS, "upload-length": String(length), "content-length": "0", ...headers },
  });
  assert.equal(answer.status, 201, answer.text);
  return { uid: answer.headers["stream-media-id"] as string, path: new URL(answer.headers.location!).pathname };
}

/** Returns the parts of a form around one file, and its content type. */
export function formAround(
  file: Buffer,
  name = "clip.mp4",
): { type: string; before: Buffer; after: Buffer; length: number } {
  const boundary = randomBytes(12).toString("hex");
  const before = Buffer.from(
    `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\ncontent-type: application/octet-stream\r\n\r\n`,
  );
  const after = Buffer.from(`\r\n--${boundary}--\r\n`);
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    before,
    after,
    length: before.length + file.length + after.length,
  };
}

/** Sends a form to the API or to a one-time URL. Rejects with ConnectionCutError. */
export function sendForm(
  url: string,
  file: Buffer,
  {
    pause,
    headers = AUTHORIZATION,
    name,
  }: { pause?: (sent: number) => number; headers?: Record<string, string>; name?: string } = {},
): Promise<Heard> {
  const { type, before, after, length } = formAround(file, name);
  async function* body() {
    yield before;
    yield* pause === undefined ? [file] : slowly(file, pause);
    yield after;
  }
  return send(url, {
    method: "POST",
    headers: { ...headers, "content-type": type, "content-length": String(length) },
    body: body(),
  });
}

/** Uploads by form and returns the uid. */
export async function uploadForm(server: Pick<VideoServer, "ready">, file: Buffer | string): Promise<string> {
  const answer = await sendForm(tusAt(server), typeof file === "string" ? await readFile(file) : file);
  assert.equal(answer.status, 200, answer.text);
  return (JSON.parse(answer.text) as { result: { uid: string } }).result.uid;
}
