import { createHmac, randomBytes, randomInt } from "node:crypto";
import { networkOf } from "../../kernel/networks.ts";
import { createSrtConnection, type OpenConnection, type SrtConnection, type SrtHandlers } from "./connection.ts";
import { SRT_FLAG, HANDSHAKE_TYPE, type Handshake, readHandshake, SRT_MAGIC, writeHandshake } from "./handshake.ts";
import { openKeys, type SrtKeys } from "./keys.ts";
import { agree, responseExtensions, readHandshakeRequest, type HandshakeRequest } from "./negotiation.ts";
import { CONTROL, MAX_DATAGRAM_OCTETS, readPacket, writeControl } from "./packets.ts";
import { WINDOW } from "./receiver.ts";
import { SRT_REJECTION, type SrtRejection } from "./rejections.ts";

/** A connection request. */
interface SrtRequest {
  streamId: string;
  /** IP address of the caller. */
  address: string;
}

/** Result of a stream id lookup. */
export interface SrtStream {
  /** Required passphrase; "" if the connection must be unencrypted. */
  passphrase: string;
  /**
   * Called after the passphrase has been verified. Resolves with a function that creates the handlers if the caller is
   * accepted, otherwise with the reason sent to the caller.
   */
  accept(): Promise<SrtRejection | ((connection: SrtConnection) => SrtHandlers)>;
  /** Called if the passphrase is wrong or missing. */
  refused?(): void;
}

/** Source or destination of a datagram. */
interface SrtEndpoint {
  /** IP address. */
  address: string;
  port: number;
}

export interface SrtListenerDeps {
  /** Looks up a stream id. */
  lookUp(request: SrtRequest): Promise<SrtRejection | SrtStream>;
  /** Maximum number of concurrent connections. */
  most: number;
  /**
   * Time for retransmitting lost packets, in milliseconds, unless the caller requests more. Default 120, as in libsrt.
   */
  latencyMs?: number;
  /** Returns the time in milliseconds of a monotonic clock. */
  now: () => number;
  /** Sends a datagram. Not called after `close`. */
  send(datagram: Buffer, to: SrtEndpoint): void;
  /** Called when the number of connections has changed. While there are any, `tick` must be called regularly. */
  onConnections(connections: number): void;
  /** Called on an unexpected error: a new caller gets `serverError`, and a connected one is disconnected. */
  onError(err: unknown): void;
}

interface SrtListener {
  /** Takes a datagram. Its octets are copied if they are retained. Never throws. */
  receive(datagram: Buffer, from: SrtEndpoint): void;
  /** Runs what is due: acknowledgements, retransmissions, timeouts. Expected every ten milliseconds. */
  tick(): void;
  connections(): number;
  /** Notifies all callers and ignores further datagrams. */
  close(): void;
}

/**
 * Maximum number of handshakes with a pending stream id lookup, each of which costs a key derivation. The limit per
 * network leaves capacity for others.
 */
const MAX_PENDING = 100;
const MAX_PENDING_OF_NETWORK = 10;
const COOKIE_LIFETIME_MS = 60_000;
/**
 * How long, and for how many ended connections, late conclusions are recognized, so that they do not start a new
 * connection.
 */
const LATE_HANDSHAKE_MS = 10_000;
const MAX_CLOSED_CALLERS = 1000;

/**
 * Accepts SRT callers (draft-sharabayko-srt-01), in live mode, with handshake version 5. The owner passes in the
 * datagrams of one UDP port and the time. Stores no state about a caller until its cookie has been returned, so forged
 * addresses cost nothing.
 */
export function createSrtListener({
  lookUp,
  most,
  latencyMs = 120,
  now,
  send: sendDatagram,
  onConnections,
  onError,
}: SrtListenerDeps): SrtListener {
  const secret = randomBytes(16);
  /** Connections by this side's socket id; and by caller, for repeated conclusions. */
  const openConnections = new Map<
    number,
    { connection: OpenConnection; from: string; answer: Buffer; caller: string }
  >();
  const socketByCaller = new Map<string, number>();
  /** Network of each caller. */
  const pending = new Map<string, string>();
  const closedCallers = new Map<string, number>();
  let closed = false;

  const placeOf = ({ address, port }: SrtEndpoint) => `${address} ${port}`;
  const send = (datagram: Buffer, to: SrtEndpoint) => {
    if (!closed) sendDatagram(datagram, to);
  };
  const cookieOf = (from: SrtEndpoint, minute: number) =>
    createHmac("sha256", secret)
      .update(`${placeOf(from)} ${minute}`)
      .digest()
      .readUInt32BE(0);

  /** `socket` is the socket id of the caller. */
  function reply(handshake: Handshake, to: SrtEndpoint, socket = handshake.socket): Buffer {
    const bytes = writeControl({ type: CONTROL.handshake, timestamp: 0, to: socket, body: writeHandshake(handshake) });
    send(bytes, to);
    return bytes;
  }

  function refuse(handshake: Handshake, from: SrtEndpoint, why: SrtRejection) {
    reply({ ...handshake, type: SRT_REJECTION[why], extensionField: 0, encryption: 0, extensions: [] }, from);
  }

  const isCrowded = (network: string) =>
    [...pending.values()].filter((other) => other === network).length >= MAX_PENDING_OF_NETWORK;

  function onHandshake(handshake: Handshake, from: SrtEndpoint) {
    const minute = Math.floor(now() / COOKIE_LIFETIME_MS);
    if (handshake.type === HANDSHAKE_TYPE.induction)
      return void reply(
        {
          ...handshake,
          version: 5,
          encryption: 0,
          extensionField: SRT_MAGIC,
          cookie: cookieOf(from, minute),
          extensions: [],
        },
        from,
      );
    if (handshake.type !== HANDSHAKE_TYPE.conclusion) return;
    if (handshake.cookie !== cookieOf(from, minute) && handshake.cookie !== cookieOf(from, minute - 1)) return;
    const caller = `${placeOf(from)} ${handshake.socket}`;
    const earlierConnection = openConnections.get(socketByCaller.get(caller) ?? -1);
    // The caller repeats its request because this response was lost.
    if (earlierConnection !== undefined) return send(earlierConnection.answer, from);
    if (pending.has(caller) || now() - (closedCallers.get(caller) ?? -Infinity) < LATE_HANDSHAKE_MS) return;
    const network = networkOf(from.address);
    if (pending.size >= MAX_PENDING || isCrowded(network)) return refuse(handshake, from, "backlog");
    if (openConnections.size >= most) return refuse(handshake, from, "resource");
    pending.set(caller, network);
    void conclude(handshake, from, caller)
      .catch((err: unknown) => {
        onError(err);
        refuse(handshake, from, "serverError");
      })
      .finally(() => pending.delete(caller));
  }

  async function conclude(handshake: Handshake, from: SrtEndpoint, caller: string) {
    const wantedStream = readHandshakeRequest(handshake);
    if (typeof wantedStream === "string") return refuse(handshake, from, wantedStream);
    // These are views of a datagram and must be copied to be retained.
    const requested: HandshakeRequest = { ...wantedStream, keys: wantedStream.keys && Buffer.from(wantedStream.keys) };
    const lookupResult = await lookUp({ streamId: requested.streamId, address: from.address });
    if (typeof lookupResult === "string") return refuse(handshake, from, lookupResult);
    const keys = await keysOf(requested, lookupResult.passphrase);
    if (typeof keys === "string") {
      lookupResult.refused?.();
      return refuse(handshake, from, keys);
    }
    if (closed || openConnections.size >= most) return refuse(handshake, from, closed ? "down" : "resource");
    const acceptResult = await lookupResult.accept();
    if (typeof acceptResult === "string") return refuse(handshake, from, acceptResult);
    connect(handshake, from, caller, requested, keys, acceptResult);
  }

  function connect(
    handshake: Handshake,
    from: SrtEndpoint,
    caller: string,
    requested: HandshakeRequest,
    keys: SrtKeys | undefined,
    beginStream: (connection: SrtConnection) => SrtHandlers,
  ) {
    let id = 0;
    do id = randomInt(1, 2 ** 30);
    while (openConnections.has(id));
    const latency = agree(requested.abilities, latencyMs);
    const connection = createSrtConnection({
      address: from.address,
      peer: handshake.socket,
      sequence: handshake.sequence,
      window: Math.max(32, Math.min(WINDOW, handshake.window)),
      latencyMs: Math.max(latency.receiver, latency.sender),
      marksResent: (requested.abilities.flags & SRT_FLAG.marksResent) !== 0,
      keys,
      now,
      transmit: (bytes) => send(bytes, from),
      onError,
      onClose() {
        openConnections.delete(id);
        socketByCaller.delete(caller);
        closedCallers.set(caller, now());
        if (closedCallers.size > MAX_CLOSED_CALLERS) closedCallers.delete(closedCallers.keys().next().value!);
        onConnections(openConnections.size);
      },
    });
    const { field, extensions } = responseExtensions(requested, latency);
    const answer = reply(
      {
        ...handshake,
        encryption: keys === undefined ? 0 : keys.size / 8,
        extensionField: field,
        mtu: Math.min(handshake.mtu, MAX_DATAGRAM_OCTETS),
        window: WINDOW,
        socket: id,
        extensions,
      },
      from,
      handshake.socket,
    );
    openConnections.set(id, { connection, from: placeOf(from), answer, caller });
    socketByCaller.set(caller, id);
    onConnections(openConnections.size);
    connection.attach(beginStream(connection));
    if (closed) connection.shutDown();
  }

  function handleDatagram(bytes: Buffer, from: SrtEndpoint) {
    const packet = readPacket(bytes);
    if (packet === undefined) return;
    const knownConnection = openConnections.get(packet.to);
    if (knownConnection !== undefined) {
      if (knownConnection.from === placeOf(from)) knownConnection.connection.handle(packet);
      return;
    }
    if (packet.kind !== "control" || packet.to !== 0) return;
    const handshake = readHandshake(packet);
    if (handshake !== undefined) onHandshake(handshake, from);
  }

  return {
    receive(datagram, from) {
      if (closed) return;
      try {
        handleDatagram(datagram, from);
      } catch (err) {
        onError(err);
      }
    },
    tick() {
      for (const { connection } of openConnections.values()) connection.tick();
    },
    connections: () => openConnections.size,
    close() {
      if (closed) return;
      for (const { connection } of openConnections.values()) connection.shutDown();
      closed = true;
    },
  };
}

/** Returns the keys. A caller with a wrong passphrase, or without encryption, gets the reason. */
async function keysOf(
  { keys: message }: HandshakeRequest,
  passphrase: string,
): Promise<SrtKeys | undefined | SrtRejection> {
  if ((message === undefined) !== (passphrase === "")) return "unsecured";
  if (message === undefined) return undefined;
  const keys = await openKeys(message, passphrase);
  if (keys === "malformed") return "unsecured";
  return keys === "passphrase" ? "badSecret" : keys;
}
