import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { publishedOpenApi } from "../support/published-openapi.ts";
import { Cloudflare } from "./cloudflare-sdk.ts";
import { startPlatform, type Platform, type Scope } from "./platform.ts";

/** Fields of a video that the tests use, as returned by the API. */
export interface ShownVideo {
  uid: string;
  readyToStream: boolean;
  status: { state: string; pctComplete: string; errorReasonCode: string; errorReasonText: string };
  duration: number;
  size: number;
  input: { width: number; height: number };
  meta: Record<string, string>;
  playback: { hls: string; dash: string };
  thumbnail: string;
  preview: string;
  creator: string | null;
  watermark: { uid: string } | null;
  clippedFrom?: string;
  modified: string;
  publicDetails: object;
  requireSignedURLs: boolean;
  allowedOrigins: string[];
  scheduledDeletion: string | null;
}

export interface VideoPlatform extends Platform {
  /** The real SDK, with its default of two retries. */
  // oxlint-disable-next-line no-explicit-any
  client: any;
  /** Every request that the SDK made, including retries. */
  requests: { method: string; path: string; status: number }[];
  /** Differences between responses and the published API. */
  problems: string[];
  /** Resolves with the video when it is playable, which takes only a short time; rejects if it fails. */
  playable(uid: string): Promise<ShownVideo>;
  /**
   * Resolves with the video when all of its renditions are ready. Encoding has the lowest priority on the machine, so
   * tests of other features do not wait for it.
   */
  ready(uid: string): Promise<ShownVideo>;
}

const PATIENCE_MS = 90_000;

/**
 * Starts the whole server, which is allowed to fetch from this machine, and the SDK, whose responses are compared with
 * the published API.
 */
export async function startVideoPlatform(scope: Scope, env: Record<string, string> = {}): Promise<VideoPlatform> {
  const platform = await startPlatform(scope, { REELPOST_STREAM_ALLOW_PRIVATE: "true", ...env });
  const { api, token, account } = platform;
  const requests: VideoPlatform["requests"] = [];
  const problems: string[] = [];

  async function checkedFetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
    const response = await fetch(url, init);
    const { pathname } = new URL(url);
    const [method, path, { status }] = [
      (init.method ?? "get").toUpperCase(),
      pathname.slice(new URL(api).pathname.length),
      response,
    ];
    requests.push({ method, path, status });
    if (response.headers.get("content-type")?.startsWith("application/json") === true) {
      for (const problem of publishedOpenApi()?.problems(method, path, status, await response.clone().json()) ?? [])
        problems.push(`${method} ${path} ${status}: ${problem}`);
    }
    return response;
  }

  async function when(uid: string, met: (video: ShownVideo) => boolean): Promise<ShownVideo> {
    for (const began = Date.now(); ; await setTimeout(50)) {
      const video = await platform.ask<ShownVideo>(`/accounts/${account}/stream/${uid}`);
      assert.notEqual(video.status.state, "error", JSON.stringify(video.status));
      if (met(video)) return video;
      assert.ok(
        Date.now() - began < PATIENCE_MS,
        `the video did not reach the expected state: ${JSON.stringify(video.status)} ${platform.server.log().slice(-2000)}`,
      );
    }
  }

  const playable = (uid: string) => when(uid, ({ readyToStream }) => readyToStream);
  const ready = (uid: string) => when(uid, ({ status }) => status.state === "ready");
  return {
    ...platform,
    requests,
    problems,
    playable,
    ready,
    client: new Cloudflare({
      baseURL: api,
      apiToken: token,
      apiEmail: null,
      apiKey: null,
      timeout: 120_000,
      fetch: checkedFetch,
    }),
  };
}

interface Posted {
  uid: string;
  status: { state: string };
}

/** A user's own site: files that support range requests, and a webhook endpoint. */
export interface Site {
  origin: string;
  /** Resolves with the next webhook request about this video. Rejects if its signature does not match `secret`. */
  received(uid: string, secret: string): Promise<Posted>;
}

export async function startSite(
  scope: Scope,
  files: Record<string, { type: string; path: string } | { type: string; body: Buffer }>,
): Promise<Site> {
  const posts: { signature: string; body: Buffer }[] = [];
  const more = new EventTarget();

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === "POST") {
      posts.push({ signature: String(request.headers["webhook-signature"]), body: await buffer(request) });
      more.dispatchEvent(new Event("post"));
      return void response.writeHead(200).end();
    }
    const file = files[request.url!];
    if (file === undefined) return void response.writeHead(404).end();
    const body = "body" in file ? file.body : await readFile(file.path);
    const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0);
    const part =
      request.headers.range === undefined ? {} : { "content-range": `bytes ${from}-${body.length - 1}/${body.length}` };
    response.writeHead(request.headers.range === undefined ? 200 : 206, {
      "content-type": file.type,
      "content-length": body.length - from,
      "accept-ranges": "bytes",
      ...part,
    });
    response.end(request.method === "HEAD" ? undefined : body.subarray(from));
  }

  const server = createServer((request, response) => void respond(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  scope.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => void server.close(resolve));
  });

  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async received(uid, secret) {
      const about = () => posts.find(({ body }) => body.includes(`"uid":"${uid}"`));
      while (about() === undefined) await once(more, "post", { signal: AbortSignal.timeout(PATIENCE_MS) });
      const { signature, body } = about()!;
      posts.splice(posts.indexOf(about()!), 1);
      const [, time, given] =
        /^time=(\d+),sig1=([0-9a-f]{64})$/.exec(signature) ?? assert.fail(`no signature: ${signature}`);
      assert.equal(given, createHmac("sha256", secret).update(`${time}.`).update(body).digest("hex"));
      assert.ok(Math.abs(Date.now() / 1000 - Number(time)) < 300);
      return JSON.parse(body.toString()) as Posted;
    },
  };
}
