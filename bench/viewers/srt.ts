import { createCipheriv, pbkdf2Sync, randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import {
  EXTENSION,
  HANDSHAKE_TYPE,
  type Handshake,
  readHandshake,
  SRT_FLAG,
  writeCapabilities,
  writeHandshake,
  writeText,
} from "../../src/protocol/srt/handshake.ts";
import { CONTROL, readPacket, writeControl } from "../../src/protocol/srt/packets.ts";
import type { CountingViewer } from "./whep.ts";

const KEY_SIZE = 16;
/** libsrt acknowledges every ten milliseconds while packets arrive. */
const ACK_MS = 10;

/** An SRT caller that plays a stream. It acknowledges packets like libsrt, but does not decrypt them. */
export async function openSrtViewer(
  port: number,
  { streamId, passphrase }: { streamId: string; passphrase: string },
): Promise<CountingViewer> {
  const udp = createSocket({ type: "udp4", recvBufferSize: 512 * 1024 });
  udp.connect(port, "127.0.0.1");
  await once(udp, "connect");
  const send = (type: number, to: number, rest: { info?: number; body?: Buffer } = {}) =>
    udp.send(writeControl({ ...rest, type, timestamp: 0, to }));

  async function shake(change: Partial<Handshake>): Promise<Handshake> {
    const handshake: Handshake = {
      version: 5,
      encryption: 0,
      extensionField: 7,
      sequence: 1,
      mtu: 1500,
      window: 8192,
      type: HANDSHAKE_TYPE.conclusion,
      socket: 77,
      cookie: 0,
      address: Buffer.alloc(16),
      extensions: [],
      ...change,
    };
    send(CONTROL.handshake, 0, { body: writeHandshake(handshake) });
    const [datagram] = (await once(udp, "message", { signal: AbortSignal.timeout(5000) })) as [Buffer];
    const packet = readPacket(datagram);
    const answer = packet?.kind === "control" ? readHandshake(packet) : undefined;
    if (answer === undefined || (answer.type !== handshake.type && answer.type >= 1000))
      throw new Error(`SRT: the server rejected the caller with ${answer?.type}`);
    return answer;
  }

  const { cookie } = await shake({ version: 4, extensionField: 2, type: HANDSHAKE_TYPE.induction });
  const { socket: peer } = await shake({
    cookie,
    encryption: KEY_SIZE / 8,
    extensions: [
      {
        type: EXTENSION.request,
        body: writeCapabilities({
          version: 0x010500,
          flags: SRT_FLAG.sendsInTime | SRT_FLAG.receivesInTime | SRT_FLAG.encrypts | SRT_FLAG.marksResent,
          receiverDelay: 120,
          senderDelay: 0,
        }),
      },
      { type: EXTENSION.keyRequest, body: keyMessage(passphrase) },
      { type: EXTENSION.streamId, body: writeText(streamId) },
    ],
  });

  let octets = 0;
  let next = 1;
  let acknowledged = 1;
  let acknowledgement = 0;
  udp.on("message", (datagram) => {
    if (datagram[0]! >= 0x80) return;
    octets += datagram.length;
    next = (datagram.readUInt32BE(0) + 1) & 0x7fff_ffff;
  });
  const timer = setInterval(() => {
    if (next === acknowledged) return;
    acknowledged = next;
    const body = Buffer.alloc(28);
    for (const [i, word] of [next, 1000, 500, 8192, 100, 100, 100_000].entries()) body.writeUInt32BE(word, i * 4);
    send(CONTROL.ack, peer, { info: ++acknowledgement, body });
  }, ACK_MS);
  return {
    received: () => octets,
    close() {
      clearInterval(timer);
      udp.send(writeControl({ type: CONTROL.shutdown, timestamp: 0, to: peer, body: Buffer.alloc(4) }), () =>
        udp.close(),
      );
    },
  };
}

/** A new key, wrapped with the passphrase (draft-sharabayko-srt-01, 3.2.2). */
function keyMessage(passphrase: string): Buffer {
  const salt = randomBytes(16);
  const kek = pbkdf2Sync(passphrase, salt.subarray(8), 2048, KEY_SIZE, "sha1");
  const wrap = createCipheriv("id-aes128-wrap", kek, Buffer.alloc(8, 0xa6));
  const head = Buffer.alloc(16);
  head.set([0x12, 0x20, 0x29, 1], 0);
  head.set([2, 0, 2, 0, 0, 0, salt.length / 4, KEY_SIZE / 4], 8);
  return Buffer.concat([head, salt, wrap.update(randomBytes(KEY_SIZE)), wrap.final()]);
}
