import { setImmediate as turn } from "node:timers/promises";
import {
  EXTENSION,
  SRT_FLAG,
  type Handshake,
  HANDSHAKE_TYPE,
  readHandshake,
  writeCapabilities,
  writeHandshake,
} from "./handshake.ts";
import { createSrtListener, type SrtListenerDeps, type SrtStream } from "./listener.ts";
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
  body: writeCapabilities({ version, flags, receiverDelay: 0, senderDelay: 300 }),
});

/** Creates a caller that sends a test's packets. The owner passes in the received datagrams. */
export function createTestCaller(send: (datagram: Buffer) => void, until: (condition: () => boolean) => Promise<void>) {
  const answers: ControlPacket[] = [];
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
  return {
    send,
    shake,
    connect,
    answers,
    receive(datagram: Buffer) {
      const packet = readPacket(datagram);
      if (packet?.kind === "control") answers.push({ ...packet, body: Buffer.from(packet.body) });
    },
  };
}

/** A stream that accepts everyone and records the events of its connections. */
export const openStream = (events: string[]): SrtStream => ({
  passphrase: "",
  accept: async () => () => (
    events.push("in"),
    {
      data: (payload) => void events.push(payload.toString()),
      lost: (n) => void events.push(`lost ${n}`),
      ended: (clean) => void events.push(clean ? "clean" : "broken"),
    }
  ),
});

/** Opens a listener and its callers. Time is simulated, and datagrams arrive immediately. */
export function openCallers(options: Partial<SrtListenerDeps> = {}) {
  const events: string[] = [];
  const connections: number[] = [];
  const callers = new Map<number, (datagram: Buffer) => void>();
  let now = 0;
  let port = 1024;
  const listener = createSrtListener({
    most: 2,
    now: () => now,
    send: (datagram, to) => callers.get(to.port)?.(datagram),
    onConnections: (count) => void connections.push(count),
    onError: (err) => void events.push(String(err)),
    lookUp: async ({ streamId }) => (streamId === "no" ? "unauthorized" : openStream(events)),
    ...options,
  });
  /** Advances the time until the condition holds, by ten seconds at most. */
  async function until(condition: () => boolean): Promise<void> {
    for (const late = now + 10_000; !condition(); now += 10) {
      if (now > late) throw new Error("timed out after ten simulated seconds");
      listener.tick();
      await turn();
    }
  }
  /** `address`: the source address. */
  const open = (address = "127.0.0.1") => {
    const from = { address, port: port++ };
    const caller = createTestCaller((datagram) => listener.receive(datagram, from), until);
    callers.set(from.port, caller.receive);
    return caller;
  };
  return { listener, events, connections, open, until };
}
