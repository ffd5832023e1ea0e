// The lower bound for a relay in Node: a server that handles RTMP commands until `publish` or `play`, and then forwards
// the octets of the publisher to its players without parsing them. With the argument "reuse", it also allocates nothing
// per read: all reads of a connection use one buffer, and each write passes it to the kernel immediately.
import { writeSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import {
  CHUNK_STREAM,
  createRtmpPeer,
  MESSAGE,
  readCommand,
  type RtmpPeer,
  writeCommand,
  writeStatus,
} from "../../src/protocol/rtmp/index.ts";
import { reuseReadBuffer } from "../../src/stream/live/ingest/rtmp/one-buffer.ts";

/** The chunk size of the publisher, which players must expect. */
const CHUNK_SIZE = 4096;
const STREAM = 1;
const isReused = process.argv[2] === "reuse";

/** The data that a publisher has sent, kept for players that connect later, and its current players. */
interface Broadcast {
  sent: Buffer[];
  players: Set<Socket>;
}
const broadcasts = new Map<string, Broadcast>();
const broadcastOf = (name: string) =>
  broadcasts.getOrInsertComputed(name.replace(/^\w+-/, ""), () => ({ sent: [], players: new Set() }));

function accept(acceptedSocket: Socket): void {
  const socket = isReused ? reuseReadBuffer(acceptedSocket) : acceptedSocket;
  const peer = createRtmpPeer({
    role: "server",
    maxMessageSize: 16 * 1024 * 1024,
    write: (pieces) => pieces.forEach((piece) => socket.write(piece)),
  });
  let published: Broadcast | undefined;
  socket.setNoDelay(true).on("error", () => {});
  socket.on("data", (bytes: Buffer) => {
    if (published !== undefined) return forward(published, bytes);
    for (const message of peer.push(bytes)) {
      const command = readCommand(message);
      if (command === undefined) continue;
      const { name, transaction, args } = command;
      if (name === "connect") peer.setChunkSize(CHUNK_SIZE);
      if (name === "connect" || name === "createStream")
        reply(peer, writeCommand("_result", transaction, null, STREAM));
      if (name === "publish") {
        published = broadcastOf(String(args[0]));
        status(peer, "NetStream.Publish.Start");
      }
      if (name === "play") {
        const broadcast = broadcastOf(String(args[0]));
        status(peer, "NetStream.Play.Start");
        for (const octets of broadcast.sent) socket.write(octets);
        broadcast.players.add(socket);
        socket.once("close", () => broadcast.players.delete(socket));
      }
    }
  });
}

function forward({ sent, players }: Broadcast, bytes: Buffer): void {
  if (players.size === 0) sent.push(isReused ? Buffer.from(bytes) : bytes);
  for (const player of players) {
    if (isReused) writeNow(player, bytes);
    else player.write(bytes);
  }
}

/** Copies only the octets that the kernel does not accept. */
function writeNow(player: Socket, bytes: Buffer): void {
  if (player.destroyed) return;
  const { fd } = (player as unknown as { _handle: { fd: number } })._handle;
  let written = 0;
  try {
    if (player.writableLength === 0) written = writeSync(fd, bytes);
  } catch {
    // The send buffer is full, or the connection is broken: `write` queues the octets or reports the error.
  }
  if (written < bytes.length) player.write(Buffer.from(bytes.subarray(written)));
}

const reply = (peer: RtmpPeer, data: Buffer) =>
  peer.send(CHUNK_STREAM.command, { type: MESSAGE.command, stream: 0, time: 0, data });
const status = (peer: RtmpPeer, code: string) =>
  peer.send(CHUNK_STREAM.status, {
    type: MESSAGE.command,
    stream: STREAM,
    time: 0,
    data: writeStatus("status", code, ""),
  });

const server = createServer(accept).listen({ host: "127.0.0.1", port: 0 }, () => {
  const { port } = server.address() as { port: number };
  process.stdout.write(`rtmp://127.0.0.1:${port}\n`);
});
process.once("SIGTERM", () => process.exit());
