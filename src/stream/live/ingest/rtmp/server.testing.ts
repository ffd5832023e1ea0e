import type { TestContext } from "node:test";
import { createSecureContext } from "node:tls";
import { makeSelfSigned } from "../../../../certificates/index.ts";
import { silentLog, systemClock } from "../../../../kernel/index.ts";
import type { NetworkSet } from "../../../../kernel/networks.ts";
import { audioFrameHeader, writeAudioConfig } from "../../../../protocol/flv/index.ts";
import { MESSAGE, writeAmf0 } from "../../../../protocol/rtmp/index.ts";
import { until } from "../fake-sessions.testing.ts";
import { createFakeIngest, createTestClient, type FakeIngest, type TestClient } from "./rtmp.testing.ts";
import { type RtmpLimits, type RtmpServer, startRtmpServer } from "./server.ts";

const pair = makeSelfSigned({ names: ["localhost"], clock: systemClock });
const tls = { context: () => createSecureContext({ cert: pair.cert, key: pair.key }) };

interface RtmpFixture {
  ingest: FakeIngest;
  server: RtmpServer;
  /** Input uid of each viewer, by session. */
  viewers: Map<string, string>;
  url: string;
  secureUrl: string;
}

/** Opens a server on free ports, with an input that has the publish key "key" and the playback key "watch". */
export async function openRtmp(
  t: TestContext,
  limits: Partial<RtmpLimits> = {},
  connections = 100,
  isProxy?: NetworkSet,
): Promise<RtmpFixture> {
  const ingest = createFakeIngest();
  ingest.add("key", "watch");
  const viewers = new Map<string, string>();
  const join = (input: string, session: string) => {
    viewers.set(session, input);
    return () => void viewers.delete(session);
  };
  const server = await startRtmpServer({
    host: "127.0.0.1",
    port: 0,
    secure: { port: 0, tls },
    publishing: ingest,
    sessions: ingest,
    inputs: ingest.inputs,
    viewers: { join },
    connections,
    limits,
    ...(isProxy && { isProxy }),
    log: silentLog,
  });
  t.after(() => server.close());
  return {
    ingest,
    server,
    viewers,
    url: `rtmp://127.0.0.1:${server.port}/live`,
    secureUrl: `rtmps://127.0.0.1:${server.securePort}/live`,
  };
}

/** Opens a client that has sent `publish` and received a response. */
export async function openPublisher(t: TestContext, { server }: RtmpFixture, key = "key"): Promise<TestClient> {
  const client = createTestClient(server.port!);
  t.after(() => client.socket.destroy());
  await client.open();
  client.command("publish", key, "live");
  await until("the publish command gets a response", () => client.status() !== undefined);
  return client;
}

/** Sends a media message; `time` is in milliseconds. */
export const sendMessage = ({ peer }: TestClient, type: number, time: number, data: Buffer) =>
  peer.send(6, { type, stream: 1, time, data });

/** Returns an audio message that contains one frame. */
export const writeFrame = (codec: "aac", data: Buffer) => Buffer.concat([audioFrameHeader(codec), data]);

/** AudioSpecificConfig: AAC-LC, 48 kHz, stereo. */
export const AAC_CONFIG = Buffer.from([0x11, 0x90]);

/** Publishes audio that goes live immediately, because its metadata announces no other track. */
export function publishAudioOnly(client: TestClient) {
  sendMessage(client, MESSAGE.audio, 0, writeAudioConfig("aac", AAC_CONFIG)!);
  client.peer.send(4, {
    type: MESSAGE.data,
    stream: 1,
    time: 0,
    data: writeAmf0("@setDataFrame", "onMetaData", { audiocodecid: 10 }),
  });
}
