import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { AUTHORIZATION, padded, send, TUS } from "../../test/faults/stream/senders.ts";
import { clip } from "../../test/support/media.ts";
import type { Platform } from "./platform.ts";
import { checkItems, type Writer } from "./writer.ts";

/** Minimum size of each part of an upload except the last. */
const PART_BYTES = 5 * 1024 * 1024;
const ATTEMPTS = 60;
const PAUSE_MS = 250;

/**
 * Uploads small videos over TUS. Each request goes to a random node; after a failure, the upload resumes on another
 * one.
 */
export async function createUploadWriter(platform: Platform): Promise<Writer> {
  const video = await clip({ seconds: 1, size: "160x90", fps: "10", audio: false });
  const { length: videoBytes } = await readFile(video);
  const bytes = await padded(video, PART_BYTES + 1000 - videoBytes + 200_000);
  const acknowledged: string[] = [];
  const behind: string[] = [];

  async function offsetOf(path: string): Promise<number> {
    const { status, headers } = await send(`${platform.any().server.ready.url}${path}`, {
      method: "HEAD",
      headers: { ...AUTHORIZATION, ...TUS },
    });
    if (status !== 200) throw new Error(`HEAD ${path}: ${status}`);
    return Number(headers["upload-offset"]);
  }

  async function patch(path: string, offset: number): Promise<number> {
    const body = bytes.subarray(offset, offset + PART_BYTES);
    const { status, text } = await send(`${platform.any().server.ready.url}${path}`, {
      method: "PATCH",
      headers: {
        ...AUTHORIZATION,
        ...TUS,
        "upload-offset": String(offset),
        "content-type": "application/offset+octet-stream",
      },
      body,
    });
    if (status !== 204) throw new Error(`PATCH ${path} at ${offset}: ${status} ${text.slice(0, 200)}`);
    return offset + body.length;
  }

  return {
    kind: "uploads",
    pauseMs: 2000,
    async write() {
      const { server, api } = platform.any();
      const created = await send(`${server.ready.api}/accounts/${api.account}/stream`, {
        method: "POST",
        headers: { ...AUTHORIZATION, ...TUS, "upload-length": String(bytes.length), "content-length": "0" },
      });
      if (created.status !== 201) throw new Error(`POST stream: ${created.status} ${created.text.slice(0, 200)}`);
      const uid = created.headers["stream-media-id"] as string;
      const path = new URL(created.headers.location!).pathname;
      let offset = 0;
      let problem: unknown;
      for (let attempt = 0; attempt < ATTEMPTS && offset < bytes.length; attempt++) {
        try {
          if (problem !== undefined) {
            const stored = await offsetOf(path);
            if (stored < offset) behind.push(`upload ${uid}: offset ${stored} after ${offset} was acknowledged`);
            offset = stored;
          }
          if (offset < bytes.length) offset = await patch(path, offset);
          problem = undefined;
        } catch (err) {
          problem = err;
          await sleep(PAUSE_MS);
        }
      }
      if (offset < bytes.length) throw new Error(`upload ${uid} did not finish`, { cause: problem });
      acknowledged.push(uid);
    },
    acknowledged: () => acknowledged.length,
    missing: async ({ name, api }) => [
      ...behind,
      ...(await checkItems(acknowledged, async (uid) => {
        const { status, body } = await api.call("get", `stream/${uid}`);
        const state = body?.result?.status?.state as string | undefined;
        return status === 200 && state === "ready" && body.result.size === bytes.length
          ? undefined
          : `video ${uid} on ${name}: ${status}, ${state}, ${body?.result?.size} bytes`;
      })),
    ],
  };
}
