import type { Socket } from "node:net";
import { type Log, UserError } from "../../../../kernel/index.ts";
import { FlvError } from "../../../../protocol/flv/index.ts";
import {
  createRtmpPeer,
  readCommand,
  type RtmpCommand,
  type RtmpMessage,
  RtmpViolation,
} from "../../../../protocol/rtmp/index.ts";
import { streamErrors } from "../../../errors.ts";
import { createFlvReceiver, type FlvReceiver } from "../../flv/receive.ts";
import { writeBuffers } from "../../flv/write-pieces.ts";
import type { Publication, Publishing } from "../../publish.ts";
import { LAG_LIMIT } from "../../session.ts";
import { createRtmpResponses, streamKeyOf } from "./commands.ts";
import { admitRtmpPlayer, type PlayerPorts, startPlayback } from "./player.ts";

export interface ConnectionDeps extends PlayerPorts {
  publishing: Publishing;
  log: Log;
}

interface ConnectionOptions extends ConnectionDeps {
  socket: Socket;
  protocol: "rtmp" | "rtmps";
  address: string;
  /**
   * Called before the client publishes or plays; throws UserError if the server is full. The returned function releases
   * the slot.
   */
  admit(): () => void;
  /** Called when the client has stopped publishing or playing, but remains connected. */
  onIdle(): void;
}

export interface RtmpConnection {
  /** Ends the connection permanently and sends the reason to the client if possible. */
  end(reason: UserError): void;
}

/** Maximum octets of one message: commands before admission, media after it. */
const MAX_MESSAGE_OCTETS = { command: 16 * 1024, media: 8 * 1024 * 1024 };
/** Maximum backlog of a client, above the worst case of a legitimate one. */
const MAX_WAITING_BYTES = 2 * LAG_LIMIT;
/** Time for the last messages to arrive. */
const LINGER_MS = 2000;

/** Lifetime of one client connection: it publishes, plays, or is rejected. */
export function createRtmpConnection(options: ConnectionOptions): RtmpConnection {
  const { socket, protocol, address, publishing, log } = options;
  const peer = createRtmpPeer({
    role: "server",
    maxMessageSize: MAX_MESSAGE_OCTETS.command,
    write: (pieces) => writeBuffers(socket, pieces),
  });
  const responses = createRtmpResponses(peer);
  let userAgent: string | undefined;
  let isConnected = false;
  let publication: Publication | undefined;
  let receiver: FlvReceiver | undefined;
  let stopPlaying: (() => void) | undefined;
  let leaveSession: (() => void) | undefined;
  /** True once further input is ignored. */
  let isOver = false;

  /** Handles messages while they can be processed synchronously; otherwise the client waits. */
  function handleMessages(messages: Iterator<RtmpMessage>): void {
    try {
      for (;;) {
        if (isOver) return;
        const next = messages.next();
        if (next.done) return;
        const pendingResult = handle(next.value);
        if (pendingResult === undefined) continue;
        socket.pause();
        pendingResult.catch(handleError).then(() => {
          socket.resume();
          handleMessages(messages);
        }, handleError);
        return;
      }
    } catch (err) {
      handleError(err);
    }
  }

  function handle(message: RtmpMessage): Promise<void> | undefined {
    const command = readCommand(message);
    if (command !== undefined) return handleCommand(command);
    receiver?.message(message);
    return undefined;
  }

  function handleCommand(command: RtmpCommand): Promise<void> | undefined {
    const { name, transaction, args } = command;
    if (name === "connect") return void connect(command);
    if (!isConnected) throw new RtmpViolation("command before connect");
    switch (name) {
      case "createStream":
        return void responses.result(command, 1);
      case "FCPublish":
        return void responses.onFcPublish(streamKeyOf(args[0]));
      case "publish":
        return publish(streamKeyOf(args[0]));
      case "play":
        return play(streamKeyOf(args[0]));
      case "FCUnpublish":
      case "deleteStream":
      case "closeStream":
        return void stopReceiving();
      // Sent by players: a live stream has no length.
      case "getStreamLength":
        return void responses.result(command, 0);
      // Clients expect no response, and some treat one as a failure.
      case "_checkbw":
        return undefined;
      default:
        if (transaction > 0) responses.result(command);
        return undefined;
    }
  }

  function connect(command: RtmpCommand) {
    if (isConnected) throw new RtmpViolation("duplicate connect");
    isConnected = true;
    const version = command.object?.["flashVer"];
    if (typeof version === "string") userAgent = version.slice(0, 200);
    responses.connected(command);
  }

  async function publish(credential: string) {
    if (leaveSession !== undefined) throw new RtmpViolation("it is already publishing or playing");
    leaveSession = options.admit();
    const newPublication = await publishing.publish({
      protocol,
      credential,
      address,
      ...(userAgent !== undefined && { agent: userAgent }),
    });
    if (isOver) return newPublication.end(false);
    publication = newPublication;
    receiver = createFlvReceiver(newPublication);
    peer.setMaxMessageSize(MAX_MESSAGE_OCTETS.media);
    if (newPublication.signal.aborted) throw newPublication.signal.reason;
    newPublication.signal.addEventListener("abort", () => refuse(newPublication.signal.reason), { once: true });
    responses.streamBegins();
    responses.status("status", "NetStream.Publish.Start", "Published.");
  }

  async function play(key: string) {
    if (leaveSession !== undefined) throw new RtmpViolation("it is already publishing or playing");
    leaveSession = options.admit();
    const admittedPlayer = await admitRtmpPlayer(options, key).catch((err: unknown) => {
      throw err instanceof UserError ? new PlayerRejection(err) : err;
    });
    if (isOver) return;
    responses.streamBegins();
    responses.status("status", "NetStream.Play.Reset", "Playing from the last key frame.");
    responses.status("status", "NetStream.Play.Start", "Playing.");
    stopPlaying = startPlayback({
      ...options,
      ...admittedPlayer,
      key,
      peer,
      responses,
      queuedOctets: () => socket.writableLength,
      onEnd: handlePlayEnd,
    });
    if (isOver) stopPlaying();
  }

  function handlePlayEnd(reason: UserError | undefined) {
    if (reason !== undefined) return refuse(new PlayerRejection(reason));
    responses.streamEnds();
    responses.status("status", "NetStream.Play.UnpublishNotify", "The broadcast has ended.");
    responses.status("status", "NetStream.Play.Stop", "Stopped.");
    hangUp();
  }

  /** Called when the client has finished with its stream. */
  function stopReceiving() {
    if (publication === undefined && stopPlaying === undefined) return;
    const wasPublished = publication !== undefined;
    cleanUp(true);
    peer.setMaxMessageSize(MAX_MESSAGE_OCTETS.command);
    if (wasPublished) responses.status("status", "NetStream.Unpublish.Success", "No longer published.");
    options.onIdle();
  }

  function cleanUp(isClean: boolean) {
    const [endedPublication, endedReceiver, stop] = [publication, receiver, stopPlaying];
    publication = receiver = stopPlaying = undefined;
    try {
      endedReceiver?.end();
    } catch (err) {
      log.debug({ err, address }, "rtmp: failed to process the last packets");
    }
    endedPublication?.end(isClean);
    stop?.();
    leaveSession?.();
    leaveSession = undefined;
  }

  function handleError(err: unknown): void {
    if (isOver) return;
    if (err instanceof UserError || err instanceof PlayerRejection) return refuse(err);
    const isProtocolError = err instanceof RtmpViolation || err instanceof FlvError;
    if (isProtocolError) log.debug({ address, protocol, reason: err.message }, "rtmp: protocol violation");
    else log.error({ err, address, protocol }, "rtmp: connection failed");
    isOver = true;
    cleanUp(false);
    socket.destroy();
  }

  function refuse(err: unknown): void {
    if (isOver) return;
    const reason = err instanceof PlayerRejection ? err.reason : err;
    if (!(reason instanceof UserError)) return handleError(reason);
    log.info(
      { address, protocol, agent: userAgent, reason: reason.kind },
      err instanceof PlayerRejection ? "rtmp: player rejected" : "rtmp: publisher rejected",
    );
    if (isConnected)
      responses.status(
        "error",
        err instanceof PlayerRejection ? "NetStream.Play.StreamNotFound" : "NetStream.Publish.BadName",
        refusalText(reason),
      );
    hangUp();
  }

  /** Continues reading briefly: unread data would reset the connection and lose the last messages. */
  function hangUp() {
    if (isOver) return;
    isOver = true;
    cleanUp(false);
    socket.end();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
    socket.once("close", () => clearTimeout(timer));
  }

  socket.on("data", (bytes: Buffer) => {
    if (isOver) return;
    if (
      socket.writableLength > MAX_WAITING_BYTES ||
      (leaveSession === undefined && socket.writableLength > MAX_MESSAGE_OCTETS.command)
    )
      return handleError(new RtmpViolation("the client does not read the data sent to it"));
    try {
      handleMessages(peer.push(bytes));
    } catch (err) {
      handleError(err);
    }
  });
  socket.on("timeout", () => handleError(new RtmpViolation("the client was silent for too long")));
  // "close" reports the cause.
  socket.on("error", () => {});
  socket.on("close", () => {
    isOver = true;
    cleanUp(false);
  });

  return {
    end: (reason) =>
      isConnected
        ? refuse(stopPlaying === undefined ? reason : new PlayerRejection(reason))
        : handleError(new RtmpViolation(reason.message)),
  };
}

/** Marks rejections of players, as opposed to publishers. */
class PlayerRejection extends Error {
  readonly reason: UserError;
  constructor(reason: UserError) {
    super(reason.message, { cause: reason });
    this.reason = reason;
  }
}

const refusalText = ({ message, fix }: UserError): string => (fix === undefined ? `${message}.` : `${message}. ${fix}`);

export const tooManyConnections = (limit: number): UserError => streamErrors.liveTooMany({ limit });
