import { createHmac, randomBytes, randomInt } from "node:crypto";
import { createSocket, type RemoteInfo } from "node:dgram";
import { networkOf } from "../../kernel/networks.ts";
import { createSrtConnection, type OpenConnection, type SrtConnection, type SrtHandlers } from "./connection.ts";
import { SRT_FLAG, HANDSHAKE_TYPE, type Handshake, readHandshake, SRT_MAGIC, writeHandshake } from "./handshake.ts";
import { openKeys, type SrtKeys } from "./keys.ts";
import { agree, answerTo, readWanted, type HandshakeRequest } from "./negotiation.ts";
import { CONTROL, LARGEST, readPacket, writeControl } from "./packets.ts";
import { WINDOW } from "./receiver.ts";
import { SRT_REJECTION, type SrtRejection } from "./rejections.ts";

/** A connection request. */
interface SrtRequest {
  streamId: string;
  /** IP address of the caller. */
  address: string;
}

export interface SrtDoor {
  /** Required passphrase; "" if the connection must be unencrypted. */
  passphrase: string;
  /**
   * Called after the passphrase has been verified. Resolves with a function that creates the handlers if the caller is
   * accepted, otherwise with the reason sent to the caller.
   */
  enter(): Promise<SrtRejection | ((connection: SrtConnection) => SrtHandlers)>;
  /** Called if the passphrase is wrong or missing. */
  refused?(): void;
}

export interface SrtListenerOptions {
  host: string;
  /** 0 selects a free port. */
  port: number;
  /** Looks up a stream id. */
  door(request: SrtRequest): Promise<SrtRejection | SrtDoor>;
  /** Maximum number of concurrent connections. */
  most: number;
  /**
   * Time for retransmitting lost packets, in milliseconds, unless the caller requests more. Default 120, as in libsrt.
   */
  latencyMs?: number;
  /** Called on an unexpected error: a new caller gets `serverError`, a connected one is disconnected. */
  onError(err: unknown): void;
}

interface SrtListener {
  port: number;
  connections(): number;
  /** Notifies all callers and closes the listener. */
  close(): Promise<void>;
}

const TICK_MS = 10;
/**
 * Maximum number of handshakes with a pending stream id lookup, each of which costs a key derivation. The limit per
 * network leaves capacity for others.
 */
const MAX_PENDING = 100;
const MAX_PENDING_OF_NETWORK = 10;
const COOKIE_MS = 60_000;
/**
 * Late conclusions of ended connections do not start a new connection for this long, and for up to this many of them.
 */
const LATE_MS = 10_000;
const MAX_LATE = 1000;
/** After a stall of this length, the process reads pending input before it times out any caller. */
const STOOD_STILL_MS = 500;
const SOCKET_BUFFER = 4 * 1024 * 1024;

/**
 * Accepts SRT callers (draft-sharabayko-srt-01) on one UDP port, in live mode, with handshake version 5. Stores no
 * state about a caller until its cookie has been returned, so forged addresses cost nothing.
 */
export async function listenSrt({
  host,
  port,
  door,
  most,
  latencyMs = 120,
  onError,
}: SrtListenerOptions): Promise<SrtListener> {
  const udp = createSocket({ type: host.includes(":") ? "udp6" : "udp4" });
  const secret = randomBytes(16);
  /** Connections by this side's socket id; and by caller, for repeated conclusions. */
  const open = new Map<number, { connection: OpenConnection; from: string; answer: Buffer; caller: string }>();
  const callers = new Map<string, number>();
  /** Network of each caller. */
  const pending = new Map<string, string>();
  const gone = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let ticked = 0;
  let sending = 0;
  let onSent = () => {};
  let closed = false;

  const placeOf = ({ address, port }: RemoteInfo) => `${address} ${port}`;
  const send = (bytes: Buffer, to: RemoteInfo) => {
    if (closed) return;
    sending++;
    udp.send(bytes, to.port, to.address, () => {
      if (--sending === 0) onSent();
    });
  };
  const cookieOf = (from: RemoteInfo, minute: number) =>
    createHmac("sha256", secret)
      .update(`${placeOf(from)} ${minute}`)
      .digest()
      .readUInt32BE(0);

  /** `socket` is the socket id of the caller. */
  function reply(handshake: Handshake, to: RemoteInfo, socket = handshake.socket): Buffer {
    const bytes = writeControl({ type: CONTROL.handshake, timestamp: 0, to: socket, body: writeHandshake(handshake) });
    send(bytes, to);
    return bytes;
  }

  function refuse(handshake: Handshake, from: RemoteInfo, why: SrtRejection) {
    reply({ ...handshake, type: SRT_REJECTION[why], extensionField: 0, encryption: 0, extensions: [] }, from);
  }

  const isCrowded = (network: string) =>
    [...pending.values()].filter((other) => other === network).length >= MAX_PENDING_OF_NETWORK;

  function onHandshake(handshake: Handshake, from: RemoteInfo) {
    const minute = Math.floor(Date.now() / COOKIE_MS);
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
    const before = open.get(callers.get(caller) ?? -1);
    // The caller repeats its request because this response was lost.
    if (before !== undefined) return send(before.answer, from);
    if (pending.has(caller) || performance.now() - (gone.get(caller) ?? -Infinity) < LATE_MS) return;
    const network = networkOf(from.address);
    if (pending.size >= MAX_PENDING || isCrowded(network)) return refuse(handshake, from, "backlog");
    if (open.size >= most) return refuse(handshake, from, "resource");
    pending.set(caller, network);
    void conclude(handshake, from, caller)
      .catch((err: unknown) => {
        onError(err);
        refuse(handshake, from, "serverError");
      })
      .finally(() => pending.delete(caller));
  }

  async function conclude(handshake: Handshake, from: RemoteInfo, caller: string) {
    const wanted = readWanted(handshake);
    if (typeof wanted === "string") return refuse(handshake, from, wanted);
    // These are views of a datagram and must be copied to be retained.
    const requested: HandshakeRequest = { ...wanted, keys: wanted.keys && Buffer.from(wanted.keys) };
    const found = await door({ streamId: requested.streamId, address: from.address });
    if (typeof found === "string") return refuse(handshake, from, found);
    const keys = await keysOf(requested, found.passphrase);
    if (typeof keys === "string") {
      found.refused?.();
      return refuse(handshake, from, keys);
    }
    if (closed || open.size >= most) return refuse(handshake, from, closed ? "down" : "resource");
    const begin = await found.enter();
    if (typeof begin === "string") return refuse(handshake, from, begin);
    letIn(handshake, from, caller, requested, keys, begin);
  }

  function letIn(
    handshake: Handshake,
    from: RemoteInfo,
    caller: string,
    requested: HandshakeRequest,
    keys: SrtKeys | undefined,
    begin: (connection: SrtConnection) => SrtHandlers,
  ) {
    let id = 0;
    do id = randomInt(1, 2 ** 30);
    while (open.has(id));
    const latency = agree(requested.abilities, latencyMs);
    const connection = createSrtConnection({
      address: from.address,
      peer: handshake.socket,
      sequence: handshake.sequence,
      window: Math.max(32, Math.min(WINDOW, handshake.window)),
      latencyMs: Math.max(latency.receiver, latency.sender),
      marksResent: (requested.abilities.flags & SRT_FLAG.marksResent) !== 0,
      keys,
      now: () => performance.now(),
      transmit: (bytes) => send(bytes, from),
      onError,
      onClose() {
        open.delete(id);
        callers.delete(caller);
        gone.set(caller, performance.now());
        if (gone.size > MAX_LATE) gone.delete(gone.keys().next().value!);
        if (open.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      },
    });
    const { field, extensions } = answerTo(requested, latency);
    const answer = reply(
      {
        ...handshake,
        encryption: keys === undefined ? 0 : keys.size / 8,
        extensionField: field,
        mtu: Math.min(handshake.mtu, LARGEST),
        window: WINDOW,
        socket: id,
        extensions,
      },
      from,
      handshake.socket,
    );
    open.set(id, { connection, from: placeOf(from), answer, caller });
    callers.set(caller, id);
    if (timer === undefined) {
      ticked = performance.now();
      timer = setInterval(tick, TICK_MS);
    }
    connection.attach(begin(connection));
    if (closed) connection.shutDown();
  }

  function tick() {
    const at = performance.now();
    const stoodStill = at - ticked > STOOD_STILL_MS;
    ticked = at;
    if (stoodStill) return;
    for (const { connection } of open.values()) connection.tick();
  }

  function take(bytes: Buffer, from: RemoteInfo) {
    const packet = readPacket(bytes);
    if (packet === undefined) return;
    const known = open.get(packet.to);
    if (known !== undefined) {
      if (known.from === placeOf(from)) known.connection.handle(packet);
      return;
    }
    if (packet.kind !== "control" || packet.to !== 0) return;
    const handshake = readHandshake(packet);
    if (handshake !== undefined) onHandshake(handshake, from);
  }

  udp.on("message", (bytes, from) => {
    // Port 0 cannot receive, and sending to it throws.
    if (closed || from.port === 0) return;
    try {
      take(bytes, from);
    } catch (err) {
      onError(err);
    }
  });
  await new Promise<void>((resolve, reject) => {
    udp.once("error", reject);
    udp.bind(port, host, () => {
      udp.off("error", reject).on("error", onError);
      resolve();
    });
  });
  for (const grow of ["setRecvBufferSize", "setSendBufferSize"] as const) {
    try {
      udp[grow](SOCKET_BUFFER);
    } catch {
      // The operating system allows less, and has granted its maximum.
    }
  }

  return {
    port: udp.address().port,
    connections: () => open.size,
    async close() {
      if (closed) return;
      for (const { connection } of open.values()) connection.shutDown();
      closed = true;
      // Closing the socket now would drop datagrams that are still being sent.
      if (sending > 0) await new Promise<void>((resolve) => (onSent = resolve));
      await new Promise<void>((resolve) => udp.close(() => resolve()));
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
