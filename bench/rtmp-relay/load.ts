import { connect, type Socket } from "node:net";
import type { FlvTag } from "../../src/protocol/flv/index.ts";
import { writeBuffers } from "../../src/stream/live/flv/write-pieces.ts";
import {
  CHUNK_STREAM,
  createRtmpPeer,
  MESSAGE,
  readCommand,
  readStatus,
  type RtmpMessage,
  type RtmpPeer,
  writeAmf0,
  writeCommand,
} from "../../src/protocol/rtmp/index.ts";

/** A connected client with its stream. */
interface Client {
  socket: Socket;
  peer: RtmpPeer;
  stream: number;
}

export interface Publisher {
  /** Sends each tag when it is due; returns the number of video bytes. */
  send(tags: readonly FlvTag[]): Promise<number>;
  close(): void;
}

export interface Player {
  /** Returns bytes and number of received video messages. */
  received(): { octets: number; frames: number };
  close(): void;
}

const TIMEOUT_MS = 20_000;
/** The chunk size used by OBS. */
const CHUNK_SIZE = 4096;
/** Interval at which due tags are sent. */
const TICK_MS = 5;

function open(
  port: number,
  wanted: string,
  act: (client: Client) => void,
  onMedia: (message: RtmpMessage) => void,
): Promise<Client> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  const peer = createRtmpPeer({
    role: "client",
    maxMessageSize: 16 * 1024 * 1024,
    write: (pieces) => writeBuffers(socket, pieces),
  });
  const client = { socket, peer, stream: 0 };
  const command = (...given: Parameters<typeof writeCommand>) =>
    peer.send(CHUNK_STREAM.command, { type: MESSAGE.command, stream: 0, time: 0, data: writeCommand(...given) });
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no ${wanted} within ${TIMEOUT_MS / 1000} s`)), TIMEOUT_MS);
    let requested = false;
    socket.once("connect", peer.startHandshake).once("error", reject);
    socket.on("data", (bytes: Buffer) => {
      for (const message of peer.push(bytes)) {
        const reply = readCommand(message);
        if (reply === undefined) onMedia(message);
        else if (reply.name === "_result" && reply.transaction === 1) {
          peer.setChunkSize(CHUNK_SIZE);
          command("createStream", 2, null);
        } else if (reply.name === "_result" && reply.transaction === 2) {
          client.stream = reply.args[0] as number;
          act(client);
        } else if (reply.name === "onStatus" && readStatus(reply).code === wanted) {
          clearTimeout(timer);
          resolve(client);
        } else if (reply.name === "onStatus" && readStatus(reply).level === "error")
          reject(new Error(readStatus(reply).code));
      }
      if (!peer.isHandshakeComplete || requested) return;
      requested = true;
      command("connect", 1, { app: "live", tcUrl: `rtmp://127.0.0.1:${port}/live`, flashVer: "bench" });
    });
  });
}

export async function startPublisher(port: number, key: string): Promise<Publisher> {
  const { socket, peer, stream } = await open(
    port,
    "NetStream.Publish.Start",
    (client) =>
      client.peer.send(CHUNK_STREAM.command, {
        type: MESSAGE.command,
        stream: client.stream,
        time: 0,
        data: writeCommand("publish", 3, null, key, "live"),
      }),
    () => {},
  );
  peer.send(CHUNK_STREAM.audio, {
    type: MESSAGE.data,
    stream,
    time: 0,
    data: writeAmf0("@setDataFrame", "onMetaData", { videocodecid: 7, audiocodecid: 10 }),
  });
  return {
    async send(tags) {
      const began = performance.now();
      let octets = 0;
      for (const { type, time, data } of tags) {
        while (time > performance.now() - began) await new Promise((resolve) => void setTimeout(resolve, TICK_MS));
        peer.send(type === MESSAGE.audio ? CHUNK_STREAM.audio : CHUNK_STREAM.video, { type, stream, time, data });
        if (type === MESSAGE.video) octets += data.length;
      }
      return octets;
    },
    close: () => socket.destroy(),
  };
}

export async function startPlayer(port: number, key: string): Promise<Player> {
  let octets = 0;
  let frames = 0;
  const { socket } = await open(
    port,
    "NetStream.Play.Start",
    (client) =>
      client.peer.send(CHUNK_STREAM.command, {
        type: MESSAGE.command,
        stream: client.stream,
        time: 0,
        data: writeCommand("play", 3, null, key),
      }),
    ({ type, data }) => {
      if (type !== MESSAGE.video) return;
      octets += data.length;
      frames++;
    },
  );
  return { received: () => ({ octets, frames }), close: () => socket.destroy() };
}
