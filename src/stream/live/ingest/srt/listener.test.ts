import assert from "node:assert/strict";
import { createSocket, type Socket } from "node:dgram";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { describe, test, type TestContext } from "node:test";
import { HANDSHAKE_TYPE, writeHandshake } from "../../../../protocol/srt/handshake.ts";
import { CONTROL, writeControl, writeDataPacket } from "../../../../protocol/srt/packets.ts";
import { abilities, asking, createTestCaller, openStream } from "../../../../protocol/srt/srt.testing.ts";
import { until } from "../fake-sessions.testing.ts";
import { listenSrt } from "./listener.ts";

/** Opens a listener, and callers that each send from a port of their own. */
async function openCallers(t: TestContext) {
  const events: string[] = [];
  const listener = await listenSrt({
    host: "127.0.0.1",
    port: 0,
    most: 2,
    onError: (err) => void events.push(String(err)),
    lookUp: async () => openStream(events),
  });
  t.after(() => listener.close());
  function open() {
    const socket = createSocket("udp4").bind(0, "127.0.0.1");
    t.after(() => void socket.close());
    const caller = createTestCaller(
      (datagram) => socket.send(datagram, listener.port, "127.0.0.1"),
      (condition) => until("a packet", condition),
    );
    socket.on("message", caller.receive);
    return caller;
  }
  return { listener, events, open };
}

describe("SRT callers on a UDP port", () => {
  test("are acknowledged while they send, and notified when the port closes", async (t) => {
    const { listener, events, open } = await openCallers(t);
    const { connect, send, answers } = open();
    const { socket: to, type } = await connect({ extensions: [abilities()] });
    assert.deepEqual([type, listener.connections()], [HANDSHAKE_TYPE.conclusion, 1]);
    const payload = Buffer.from("a");
    send(writeDataPacket({ sequence: 1234, key: "none", resent: false, message: 1, timestamp: 0, to, payload }));
    await until("the acknowledgement", () =>
      answers.some(({ type, body }) => type === CONTROL.ack && body.readUInt32BE(0) === 1235),
    );
    await listener.close();
    await until("the notification", () => answers.some(({ type }) => type === CONTROL.shutdown));
    assert.deepEqual([events, listener.connections()], [["in", "a", "broken"], 0]);
  });

  test("with port 0, to which no packet can be sent, are ignored", async (t) => {
    let socket: Socket | undefined;
    const onSocket = (message: unknown) => void (socket ??= (message as { socket: Socket }).socket);
    subscribe("udp.socket", onSocket);
    const { events, open } = await openCallers(t);
    unsubscribe("udp.socket", onSocket);
    const induction = writeControl({
      type: CONTROL.handshake,
      timestamp: 0,
      to: 0,
      body: writeHandshake(asking({ version: 4, type: HANDSHAKE_TYPE.induction })),
    });
    // No operating system assigns this port to a socket, but raw datagrams can have it as their source.
    socket!.emit("message", induction, { address: "127.0.0.1", family: "IPv4", port: 0, size: induction.length });
    assert.equal((await open().connect({ extensions: [abilities()] })).type, HANDSHAKE_TYPE.conclusion);
    assert.deepEqual(events, ["in"]);
  });
});
