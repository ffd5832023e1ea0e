import { createReadStream, statSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { BenchContext } from "../harness/bench.ts";
import { startServerProcess, type ServerProcess } from "../harness/server-process.ts";

/** A server with its API, as used by a client. */
export interface VideoServer {
  url: string;
  pid: number;
  /**
   * Uploads by TUS, in chunks as clients do. Resolves with the uid and the time when the last byte was sent, by
   * performance.now().
   */
  upload(path: string): Promise<{ uid: string; sent: number }>;
  /** Calls an operation of the account's video API and resolves with its result; `path` is relative to `/stream`. */
  call<Result>(method: string, path: string, body?: object): Promise<Result>;
  details(uid: string): Promise<{ readyToStream: boolean; status: { state: string; pctComplete: string } }>;
  /** Deletes the video and waits until encoding has stopped. */
  remove(uid: string): Promise<void>;
}

const main = join(import.meta.dirname, "..", "..", "src", "cli", "main.ts");
/** The chunk size recommended by the hosted service's documentation. */
const CHUNK = 52_428_800;
const QUIET_MS = 60_000;

export async function startVideoServer(
  kit: BenchContext,
  name: string,
  env: Record<string, string> = {},
): Promise<VideoServer> {
  const ready: { token?: string; account?: { id: string } } = {};
  const args = [
    main,
    "serve",
    "--json",
    "--data-dir",
    join(kit.dir, name),
    "--port",
    "0",
    "--smtp-port",
    "0",
    "--log-level",
    "warn",
  ];
  const server: ServerProcess = await startServerProcess({
    name: "reelpost serve",
    args,
    cwd: kit.dir,
    env: { REELPOST_API_RATE_LIMIT: "0", ...env },
    ready(line) {
      const event = JSON.parse(line) as { url?: string; token?: string; account?: { id: string } };
      Object.assign(ready, event);
      return event.url;
    },
  });
  kit.onStop(server.stop);
  return createVideoClient(server, { account: ready.account!.id, token: ready.token! });
}

/** A client of the video API of a running server. */
export function createVideoClient(
  server: Pick<ServerProcess, "url" | "pid">,
  { account, token }: { account: string; token: string },
): VideoServer {
  const base = `${server.url}/client/v4/accounts/${account}/stream`;
  const authorization = `Bearer ${token}`;

  async function call<Result>(method: string, path: string, body?: object): Promise<Result> {
    const response = await fetch(`${base}${path}`, {
      method,
      headers: { authorization, ...(body && { "content-type": "application/json" }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}: ${await response.text()}`);
    const text = await response.text();
    return (text === "" ? undefined : (JSON.parse(text) as { result: Result }).result) as Result;
  }

  return {
    url: server.url,
    pid: server.pid,
    async upload(path) {
      const { size } = statSync(path);
      const created = await fetch(base, {
        method: "POST",
        headers: {
          authorization,
          "tus-resumable": "1.0.0",
          "upload-length": String(size),
          "upload-metadata": `name ${Buffer.from("bench").toString("base64")}`,
        },
      });
      if (created.status !== 201)
        throw new Error(`the upload request returned ${created.status}: ${await created.text()}`);
      const location = new URL(created.headers.get("location")!, base);
      let sent = 0;
      for (let offset = 0; offset < size; offset += CHUNK)
        sent = await patch(location, path, offset, Math.min(size, offset + CHUNK) - 1);
      return { uid: created.headers.get("stream-media-id")!, sent };
    },
    call,
    details: (uid) => call("GET", `/${uid}`),
    async remove(uid) {
      await call("DELETE", `/${uid}`);
      for (const since = performance.now(); performance.now() - since < QUIET_MS; await sleep(50))
        if ((await running(server.url)) === 0) return;
      throw new Error("a deleted video is still being encoded");
    },
  };
}

/**
 * Resolves once the chunk has been acknowledged, with the time when its last byte was passed to the operating system.
 */
function patch(url: URL, path: string, start: number, end: number): Promise<number> {
  return new Promise((resolve, reject) => {
    let sent = 0;
    const sending = request(
      url,
      {
        method: "PATCH",
        headers: {
          "tus-resumable": "1.0.0",
          "upload-offset": String(start),
          "content-type": "application/offset+octet-stream",
          "content-length": String(end - start + 1),
        },
      },
      (response) => {
        response
          .resume()
          .on("end", () =>
            response.statusCode === 204
              ? resolve(sent)
              : reject(new Error(`a chunk request returned ${response.statusCode}`)),
          );
      },
    );
    sending.on("error", reject).on("finish", () => (sent = performance.now()));
    createReadStream(path, { start, end, highWaterMark: 1024 * 1024 })
      .on("error", reject)
      .pipe(sending);
  });
}

async function running(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^reelpost_media_running (\d+)/m.exec(text)?.[1] ?? Number.NaN);
}
