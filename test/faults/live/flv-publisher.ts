import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { flvHeader, readTags, type FlvTag } from "../../../src/protocol/flv/index.ts";
import { MESSAGE } from "../../../src/protocol/rtmp/index.ts";
import { createTestClient } from "../../../src/stream/live/ingest/rtmp/rtmp.testing.ts";
import type { Scope } from "../../e2e/serve-client.ts";
import { until } from "../stream/server.ts";
import { rtmpPort } from "./publishers.ts";
import type { Input } from "./server.ts";

interface FlvPublisher {
  /** Timestamp in milliseconds of the last frame passed to the operating system. */
  sent(): number;
  /** Resolves when everything has been sent, or the server has closed the connection. */
  done: Promise<void>;
  end(): void;
}

/** Resolves with the FLV tags in a file, as RTMP carries them. */
export async function tagsOf(file: string): Promise<FlvTag[]> {
  return [...readTags((await readFile(file)).subarray(flvHeader({ video: true, audio: true }).length))];
}

/** Sends tags one by one: `at` is the send time in milliseconds, while the server sees the tag's own timestamp. */
export async function publishTags(
  t: Scope,
  input: Input,
  tags: Iterable<FlvTag & { at?: number }>,
  { speed = 1 } = {},
): Promise<FlvPublisher> {
  const client = createTestClient(rtmpPort(input));
  t.after(async () => void client.socket.destroy());
  await client.open();
  client.command("publish", input.rtmp.streamKey, "live");
  await until(() => client.status() !== undefined, "the publish command gets a response");
  assert.equal(client.status()!.code, "NetStream.Publish.Start");
  let sent = 0;
  async function send() {
    const began = performance.now();
    for (const { type, time, data, at = time } of tags) {
      const wait = at / speed - (performance.now() - began);
      if (wait > 1) await sleep(wait);
      if (client.closed) return;
      client.peer.send(type === MESSAGE.audio ? 4 : 6, { type, stream: 1, time, data });
      if (type === MESSAGE.video) sent = time;
    }
  }
  return { sent: () => sent, done: send(), end: () => client.command("deleteStream", 1) };
}
