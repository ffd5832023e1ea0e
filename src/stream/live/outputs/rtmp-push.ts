import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { messageOf } from "../../../kernel/index.ts";
import {
  CHUNK_STREAM,
  createRtmpPeer,
  MESSAGE,
  readCommand,
  readStatus,
  type RtmpCommand,
  RtmpViolation,
  writeAmf0,
  writeCommand,
} from "../../../protocol/rtmp/index.ts";
import { createFlvSender } from "../flv/send.ts";
import { writeBuffers } from "../flv/write-pieces.ts";
import { pinned } from "./addresses.ts";
import { OutputError } from "./output-error.ts";
import { checkTracks, type PushOptions } from "./push.ts";
import type { RtmpTarget } from "./target.ts";

interface RtmpPushOptions extends PushOptions {
  target: RtmpTarget;
  /** Certificates to trust instead of the system's, PEM. */
  ca?: string;
}

/** Maximum octets of a message from the server: statuses and responses. */
const MAX_MESSAGE_OCTETS = 64 * 1024;
/** OBS uses this size, so every server accepts it. */
const CHUNK_SIZE = 4096;
/** Timeout for the server to confirm publishing. */
const CONNECT_MS = 15_000;
/** Timeout without any data sent or received. */
const IDLE_MS = 30_000;
/** Time for the last messages to arrive. */
const LINGER_MS = 2000;
const AGENT = "FMLE/3.0 (compatible; Reelpost)";
const TRANSACTION = { connect: 1, release: 2, announce: 3, create: 4, publish: 5, unpublish: 6, delete: 7 } as const;

/**
 * Sends a broadcast to another server over RTMP or RTMPS. Resolves when it ends or is aborted; rejects with
 * OutputError.
 */
export function pushRtmp(options: RtmpPushOptions): Promise<void> {
  const { target, addresses, session, onConnected, ca } = options;
  const signal = AbortSignal.any([options.signal, session.signal]);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = openSocket(target, addresses, ca);
  const peer = createRtmpPeer({
    role: "client",
    maxMessageSize: MAX_MESSAGE_OCTETS,
    write: (pieces) => writeBuffers(socket, pieces),
  });
  const deadline = setTimeout(
    () => fail(new OutputError(`${target.host} did not accept the stream within ${CONNECT_MS / 1000} s`)),
    CONNECT_MS,
  );
  let stream = 0;
  let unsubscribe = () => {};
  let publishRequested = false;
  let isPublished = false;
  let isOver = false;

  const sendCommand = (...given: Parameters<typeof writeCommand>) =>
    peer.send(CHUNK_STREAM.command, { type: MESSAGE.command, stream: 0, time: 0, data: writeCommand(...given) });

  function cleanUp() {
    isOver = true;
    clearTimeout(deadline);
    unsubscribe();
    signal.removeEventListener("abort", finish);
  }

  function fail(err: unknown): void {
    if (isOver) return;
    cleanUp();
    socket.destroy();
    reject(
      err instanceof OutputError
        ? err
        : new OutputError(
            err instanceof RtmpViolation
              ? `${target.host} is not an RTMP server`
              : `${target.host} cannot be reached: ${messageOf(err)}`,
            { cause: err },
          ),
    );
  }

  /** Closes the connection cleanly. */
  function finish(): void {
    if (isOver) return;
    cleanUp();
    if (isPublished) {
      sendCommand("FCUnpublish", TRANSACTION.unpublish, null, target.key);
      sendCommand("deleteStream", TRANSACTION.delete, null, stream);
    }
    socket.end();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
    socket.once("close", () => clearTimeout(timer));
    resolve();
  }

  /** The error message of the remote server is shown to the owner, with the key removed. */
  function refusalOf(given: RtmpCommand): OutputError {
    const { code, description } = readStatus(given);
    const refusalText = [code, description]
      .filter((text) => text !== "")
      .join(": ")
      .replaceAll(target.key, "(key)")
      .replace(/[^\P{C}]/gu, " ")
      .slice(0, 300);
    return new OutputError(`${target.host} rejected the stream${refusalText === "" ? "" : ` (${refusalText})`}`);
  }

  function onCommand(given: RtmpCommand) {
    if (given.name === "onStatus") {
      const { level, code } = readStatus(given);
      if (level === "error" || code === "NetStream.Publish.BadName") throw refusalOf(given);
      if (code === "NetStream.Publish.Start") begin();
    } else if (
      given.name === "_error" &&
      (given.transaction === TRANSACTION.connect || given.transaction === TRANSACTION.create)
    ) {
      throw refusalOf(given);
    } else if (given.name === "_result" && given.transaction === TRANSACTION.connect) {
      peer.setChunkSize(CHUNK_SIZE);
      sendCommand("releaseStream", TRANSACTION.release, null, target.key);
      sendCommand("FCPublish", TRANSACTION.announce, null, target.key);
      sendCommand("createStream", TRANSACTION.create, null);
    } else if (given.name === "_result" && given.transaction === TRANSACTION.create && stream === 0) {
      const [id] = given.args;
      if (typeof id !== "number" || id < 1) throw new RtmpViolation("the stream has no ID");
      stream = id;
      peer.send(CHUNK_STREAM.command, {
        type: MESSAGE.command,
        stream,
        time: 0,
        data: writeCommand("publish", TRANSACTION.publish, null, target.key, "live"),
      });
    }
  }

  function sendConnect() {
    publishRequested = true;
    sendCommand("connect", TRANSACTION.connect, {
      app: target.app,
      type: "nonprivate",
      flashVer: AGENT,
      tcUrl: target.tcUrl,
    });
  }

  function begin() {
    if (isPublished) return;
    isPublished = true;
    clearTimeout(deadline);
    socket.setTimeout(IDLE_MS);
    onConnected();
    const sender = createFlvSender({
      metadata: (streamMetadata) =>
        peer.send(CHUNK_STREAM.audio, {
          type: MESSAGE.data,
          stream,
          time: 0,
          data: writeAmf0("@setDataFrame", "onMetaData", streamMetadata),
        }),
      send: ({ type, time, head, data }) =>
        peer.send(type === MESSAGE.audio ? CHUNK_STREAM.audio : CHUNK_STREAM.video, { type, stream, time, data }, head),
    });
    const subscription = session.subscribe({
      tracks(tracks, run) {
        try {
          checkTracks(tracks);
          sender.tracks(tracks, run);
        } catch (err) {
          fail(err);
        }
      },
      packet: (packet) => void (isOver || sender.packet(packet)),
      end: finish,
      lag: () => socket.writableLength,
    });
    unsubscribe = subscription;
    if (isOver) subscription();
  }

  socket.once(target.secure ? "secureConnect" : "connect", () => peer.startHandshake());
  socket.on("data", (bytes: Buffer) => {
    if (isOver) return;
    try {
      for (const message of peer.push(bytes)) {
        const given = readCommand(message);
        if (given !== undefined) onCommand(given);
        if (isOver) return;
      }
      if (peer.isHandshakeComplete && !publishRequested) sendConnect();
    } catch (err) {
      fail(err);
    }
  });
  socket.on("timeout", () => fail(new OutputError(`${target.host} accepted no data for ${IDLE_MS / 1000} s`)));
  socket.on("error", fail);
  socket.on("close", () => fail(new OutputError(`${target.host} closed the connection`)));
  signal.addEventListener("abort", finish, { once: true });
  if (signal.aborted) finish();
  return promise;
}

function openSocket({ host, port, secure }: RtmpTarget, addresses: readonly string[], ca: string | undefined): Socket {
  const socketOptions = { host, port, lookup: pinned(addresses), autoSelectFamily: true, noDelay: true };
  if (!secure) return connect(socketOptions);
  // Even with NODE_TLS_REJECT_UNAUTHORIZED, invalid certificates are rejected here.
  return connectTls({
    ...socketOptions,
    rejectUnauthorized: true,
    ...(isIP(host) === 0 && { servername: host }),
    ...(ca !== undefined && { ca }),
  });
}
