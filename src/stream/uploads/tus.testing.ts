import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { type TestContext } from "node:test";
import { openUploadsFixture, type UploadsFixtureOptions } from "./uploads.testing.ts";

export const MIB = 1024 * 1024;

const HEADERS = { "tus-resumable": "1.0.0" };

export async function open(t: TestContext, options: Partial<UploadsFixtureOptions> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-uploads-"));
  const world = await openUploadsFixture({ folder, ...options });
  t.after(async () => {
    await world.close();
    rmSync(folder, { recursive: true, force: true });
  });
  /** Sends a request and reads the response. */
  const ask = async (
    method: string,
    url: string,
    headers: Record<string, string> = {},
    body?: Uint8Array | ReadableStream | FormData,
  ) => {
    const response = await fetch(url, {
      method,
      headers: body instanceof FormData ? headers : { ...HEADERS, ...headers },
      ...(body !== undefined && { body, duplex: "half" }),
    } as RequestInit);
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const patch = (
    url: string,
    offset: number,
    body: Uint8Array | ReadableStream,
    headers: Record<string, string> = {},
  ) =>
    ask(
      "PATCH",
      url,
      { "content-type": "application/offset+octet-stream", "upload-offset": String(offset), ...headers },
      body,
    );
  const create = async (length: number, headers: Record<string, string> = {}, path = "/tus") => {
    const {
      status,
      headers: answered,
      text,
    } = await ask("POST", `${world.base}${path}`, { "upload-length": String(length), ...headers });
    assert.equal(status, 201, text);
    return { url: answered.get("location")!, uid: answered.get("stream-media-id")! };
  };
  return { ...world, ask, patch, create };
}

/** Uploads with the real client; resolves with the client's upload object when complete. */
export const streamed = (bytes: Uint8Array) => Readable.toWeb(Readable.from([bytes])) as ReadableStream;
