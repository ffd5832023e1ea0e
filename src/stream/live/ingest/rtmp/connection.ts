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
  /** The client has stopped publishing or playing, but remains connected. */
  onIdle(): void;
}

export interface RtmpConnection {
  /** Ends the connection permanently and sends the reason to the client if possible. */
  end(reason: UserError): void;
}

/** Maximum octets of one message: commands before admission, media after it. */
const MAX_MESSAGE_OCTETS = { command: 16 * 1024, media: 8 * 1024 * 1024 };
/** Maximum backlog of a client, above the worst case of a legitimate one. */
const MAX_WAITING = 2 * LAG_LIMIT;
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
  let agent: string | undefined;
  let connected = false;
  let publication: Publication | undefined;
  let receiver: FlvReceiver | undefined;
  let stopPlaying: (() => void) | undefined;
  let leave: (() => void) | undefined;
  /** True once further input is ignored. */
  let over = false;

  /** Handles messages while they can be processed synchronously; otherwise the client waits. */
  function take(messages: Iterator<RtmpMessage>): void {
    try {
      for (;;) {
        if (over) return;
        const next = messages.next();
        if (next.done) return;
        const later = handle(next.value);
        if (later === undefined) continue;
        socket.pause();
        later.catch(failed).then(() => {
          socket.resume();
          take(messages);
        }, failed);
        return;
      }
    } catch (err) {
      failed(err);
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
    if (!connected) throw new RtmpViolation("command before connect");
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
        return void rest();
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
    if (connected) throw new RtmpViolation("duplicate connect");
    connected = true;
    const version = command.object?.["flashVer"];
    if (typeof version === "string") agent = version.slice(0, 200);
    responses.connected(command);
  }

  async function publish(credential: string) {
    if (leave !== undefined) throw new RtmpViolation("it is already publishing or playing");
    leave = options.admit();
    const made = await publishing.publish({ protocol, credential, address, ...(agent !== undefined && { agent }) });
    if (over) return made.end(false);
    publication = made;
    receiver = createFlvReceiver(made);
    peer.setMaxMessageSize(MAX_MESSAGE_OCTETS.media);
    if (made.signal.aborted) throw made.signal.reason;
    made.signal.addEventListener("abort", () => refuse(made.signal.reason), { once: true });
    responses.streamBegins();
    responses.status("status", "NetStream.Publish.Start", "Published.");
  }

  async function play(key: string) {
    if (leave !== undefined) throw new RtmpViolation("it is already publishing or playing");
    leave = options.admit();
    const admitted = await admitRtmpPlayer(options, key).catch((err: unknown) => {
      throw err instanceof UserError ? new PlayerRejection(err) : err;
    });
    if (over) return;
    responses.streamBegins();
    responses.status("status", "NetStream.Play.Reset", "Playing from the last key frame.");
    responses.status("status", "NetStream.Play.Start", "Playing.");
    stopPlaying = startPlayback({
      ...options,
      ...admitted,
      key,
      peer,
      responses,
      queuedOctets: () => socket.writableLength,
      onEnd: played,
    });
    if (over) stopPlaying();
  }

  function played(reason: UserError | undefined) {
    if (reason !== undefined) return refuse(new PlayerRejection(reason));
    responses.streamEnds();
    responses.status("status", "NetStream.Play.UnpublishNotify", "The broadcast has ended.");
    responses.status("status", "NetStream.Play.Stop", "Stopped.");
    hangUp();
  }

  /** The client has finished with its stream. */
  function rest() {
    if (publication === undefined && stopPlaying === undefined) return;
    const published = publication !== undefined;
    cleanUp(true);
    peer.setMaxMessageSize(MAX_MESSAGE_OCTETS.command);
    if (published) responses.status("status", "NetStream.Unpublish.Success", "No longer published.");
    options.onIdle();
  }

  function cleanUp(clean: boolean) {
    const [ended, taken, stop] = [publication, receiver, stopPlaying];
    publication = receiver = stopPlaying = undefined;
    try {
      taken?.end();
    } catch (err) {
      log.debug({ err, address }, "rtmp: failed to process the last packets");
    }
    ended?.end(clean);
    stop?.();
    leave?.();
    leave = undefined;
  }

  function failed(err: unknown): void {
    if (over) return;
    if (err instanceof UserError || err instanceof PlayerRejection) return refuse(err);
    const broken = err instanceof RtmpViolation || err instanceof FlvError;
    if (broken) log.debug({ address, protocol, reason: err.message }, "rtmp: protocol violation");
    else log.error({ err, address, protocol }, "rtmp: connection failed");
    over = true;
    cleanUp(false);
    socket.destroy();
  }

  function refuse(err: unknown): void {
    if (over) return;
    const reason = err instanceof PlayerRejection ? err.reason : err;
    if (!(reason instanceof UserError)) return failed(reason);
    log.info(
      { address, protocol, agent, reason: reason.kind },
      err instanceof PlayerRejection ? "rtmp: player rejected" : "rtmp: publisher rejected",
    );
    if (connected)
      responses.status(
        "error",
        err instanceof PlayerRejection ? "NetStream.Play.StreamNotFound" : "NetStream.Publish.BadName",
        sentences(reason),
      );
    hangUp();
  }

  /** Continues reading briefly: unread data would reset the connection and lose the last messages. */
  function hangUp() {
    if (over) return;
    over = true;
    cleanUp(false);
    socket.end();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
    socket.once("close", () => clearTimeout(timer));
  }

  socket.on("data", (bytes: Buffer) => {
    if (over) return;
    if (
      socket.writableLength > MAX_WAITING ||
      (leave === undefined && socket.writableLength > MAX_MESSAGE_OCTETS.command)
    )
      return failed(new RtmpViolation("the client does not read the data sent to it"));
    try {
      take(peer.push(bytes));
    } catch (err) {
      failed(err);
    }
  });
  socket.on("timeout", () => failed(new RtmpViolation("the client was silent for too long")));
  // "close" reports the cause.
  socket.on("error", () => {});
  socket.on("close", () => {
    over = true;
    cleanUp(false);
  });

  return {
    end: (reason) =>
      connected
        ? refuse(stopPlaying === undefined ? reason : new PlayerRejection(reason))
        : failed(new RtmpViolation(reason.message)),
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

const sentences = ({ message, fix }: UserError): string => (fix === undefined ? `${message}.` : `${message}. ${fix}`);

export const tooManyConnections = (limit: number): UserError => streamErrors.liveTooMany({ limit });
