import { connect } from "node:net";
import {
  CHUNK_STREAM,
  createRtmpPeer,
  MESSAGE,
  readCommand,
  readStatus,
  writeCommand,
} from "../../src/protocol/rtmp/index.ts";
import type { CountingViewer } from "./whep.ts";

const ATTEMPTS = 3;
const PLAY_TIMEOUT_MS = 15_000;

/**
 * An RTMP player. Once it plays, it counts octets without parsing them, so that one process can run many. The server
 * closes connections that do not play within ten seconds, which happens on a busy machine, so the player retries.
 */
export async function openRtmpViewer(port: number, key: string): Promise<CountingViewer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await connectPlayer(port, key);
    } catch (err) {
      if (attempt === ATTEMPTS) throw err;
    }
  }
}

function connectPlayer(port: number, key: string): Promise<CountingViewer> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  const peer = createRtmpPeer({
    role: "client",
    maxMessageSize: 16 * 1024 * 1024,
    write: (pieces) => pieces.forEach((piece) => socket.write(piece)),
  });
  const command = (stream: number, ...given: Parameters<typeof writeCommand>) =>
    peer.send(CHUNK_STREAM.command, { type: MESSAGE.command, stream, time: 0, data: writeCommand(...given) });
  let octets = 0;
  let requested = false;
  return new Promise((resolve, reject) => {
    const viewer = { received: () => octets, close: () => void socket.destroy() };
    const setUp = (bytes: Buffer) => {
      for (const message of peer.push(bytes)) {
        const reply = readCommand(message);
        if (reply?.name === "_result" && reply.transaction === 1) command(0, "createStream", 2, null);
        else if (reply?.name === "_result" && reply.transaction === 2)
          command(reply.args[0] as number, "play", 3, null, key);
        else if (reply?.name === "onStatus" && readStatus(reply).level === "error")
          socket.destroy(new Error(`RTMP: ${readStatus(reply).code}`));
        else if (reply?.name === "onStatus" && readStatus(reply).code === "NetStream.Play.Start") {
          clearTimeout(timer);
          socket.off("data", setUp).on("data", (data) => (octets += data.length));
          resolve(viewer);
          return;
        }
      }
      if (!peer.isHandshakeComplete || requested) return;
      requested = true;
      command(0, "connect", 1, { app: "live", tcUrl: `rtmp://127.0.0.1:${port}/live`, flashVer: "bench" });
    };
    const timer = setTimeout(() => socket.destroy(new Error(`no video within ${PLAY_TIMEOUT_MS} ms`)), PLAY_TIMEOUT_MS);
    let cause: Error | undefined;
    socket
      .once("connect", () => peer.startHandshake())
      .on("error", (err) => (cause = err))
      .on("close", () => {
        clearTimeout(timer);
        reject(new Error("an RTMP player was disconnected before it played", { cause }));
      })
      .on("data", setUp);
  });
}
