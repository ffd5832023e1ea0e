import { createSocket } from "node:dgram";
import type { TestContext } from "node:test";
import {
  EXTENSION,
  SRT_FLAG,
  type Handshake,
  HANDSHAKE_TYPE,
  readHandshake,
  writeAbilities,
  writeHandshake,
} from "./handshake.ts";
import { listenSrt } from "./index.ts";
import { type SrtListenerOptions } from "./listener.ts";
import { CONTROL, type ControlPacket, readPacket, writeControl } from "./packets.ts";

export const asking = (rest: Partial<Handshake> = {}): Handshake => ({
  version: 5,
  encryption: 0,
  extensionField: 5,
  sequence: 1234,
  mtu: 1500,
  window: 8192,
  type: HANDSHAKE_TYPE.conclusion,
  socket: 77,
  cookie: 0,
  address: Buffer.alloc(16),
  extensions: [],
  ...rest,
});
export const abilities = (flags = SRT_FLAG.sendsInTime | SRT_FLAG.marksResent, version = 0x010500) => ({
  type: EXTENSION.request,
  body: writeAbilities({ version, flags, receiverDelay: 0, senderDelay: 300 }),
});

/** Creates callers that send a test's packets to a listener. */
export async function openCallers(t: TestContext, options: Partial<SrtListenerOptions> = {}) {
  const events: string[] = [];
  const listener = await listenSrt({
    host: "127.0.0.1",
    port: 0,
    most: 2,
    onError: (err) => void events.push(String(err)),
    door: async ({ streamId }) =>
      streamId === "no"
        ? "unauthorized"
        : {
            passphrase: "",
            enter: async () => () => (
              events.push("in"),
              {
                data: (payload) => void events.push(payload.toString()),
                lost: (n) => void events.push(`lost ${n}`),
                ended: (clean) => void events.push(clean ? "clean" : "broken"),
              }
            ),
          },
    ...options,
  });
  t.after(() => listener.close());
  /** `address`: the source address. */
  const open = (address = "127.0.0.1") => {
    const socket = createSocket("udp4").bind(0, address);
    t.after(() => void socket.close());
    const answers: ControlPacket[] = [];
    socket.on("message", (bytes) => {
      const packet = readPacket(bytes);
      if (packet?.kind === "control") answers.push({ ...packet, body: Buffer.from(packet.body) });
    });
    const send = (bytes: Buffer) => void socket.send(bytes, listener.port, "127.0.0.1");
    const shake = async (handshake: Handshake) => {
      const before = answers.length;
      send(writeControl({ type: CONTROL.handshake, timestamp: 0, to: 0, body: writeHandshake(handshake) }));
      await until(() => answers.slice(before).some(({ type }) => type === CONTROL.handshake));
      return readHandshake(answers.slice(before).find(({ type }) => type === CONTROL.handshake)!)!;
    };
    const connect = async (given: Partial<Handshake>) => {
      const { cookie } = await shake(
        asking({
          version: 4,
          type: HANDSHAKE_TYPE.induction,
          ...(given.socket !== undefined && { socket: given.socket }),
        }),
      );
      return shake(asking({ cookie, ...given }));
    };
    return { send, shake, connect, answers };
  };
  return { listener, events, open };
}

export async function until(condition: () => boolean): Promise<void> {
  for (const late = performance.now() + 60_000; !condition();) {
    if (performance.now() > late) throw new Error("timed out after a minute");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
