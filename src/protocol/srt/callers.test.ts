import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  EXTENSION,
  SRT_FLAG,
  type Handshake,
  HANDSHAKE_TYPE,
  readCapabilities,
  SRT_MAGIC,
  writeHandshake,
  writeText,
} from "./handshake.ts";
import { SRT_REJECTION } from "./rejections.ts";
import { CONTROL, readLosses, writeControl, writeDataPacket } from "./packets.ts";
import { abilities, asking, openCallers } from "./srt.testing.ts";

describe("SRT callers", () => {
  test("get stateless responses, are accepted with their cookie, and are read in order", async () => {
    const { listener, events, open, until } = openCallers();
    const { shake, connect, send, answers } = open();
    const induction = await shake(asking({ version: 4, type: HANDSHAKE_TYPE.induction }));
    assert.deepEqual([induction.version, induction.extensionField, induction.socket], [5, SRT_MAGIC, 77]);
    send(
      writeControl({
        type: CONTROL.handshake,
        timestamp: 0,
        to: 0,
        body: writeHandshake(asking({ cookie: (induction.cookie ^ 1) >>> 0, extensions: [abilities()] })),
      }),
    );
    const answer = await connect({ extensions: [abilities(), { type: EXTENSION.streamId, body: writeText("yes") }] });
    assert.deepEqual([answer.type, answer.sequence, listener.connections()], [HANDSHAKE_TYPE.conclusion, 1234, 1]);
    const response = readCapabilities(answer.extensions[0]!.body)!;
    // The longer of the two requested latencies is used.
    assert.deepEqual(
      [response.receiverDelay, response.senderDelay, response.flags & SRT_FLAG.marksResent],
      [300, 120, SRT_FLAG.marksResent],
    );
    // The response was lost: the same caller retries.
    assert.equal((await connect({ extensions: [abilities()] })).socket, answer.socket);
    const data = (n: number, text: string) =>
      writeDataPacket({
        sequence: 1234 + n,
        key: "none",
        resent: false,
        message: n + 1,
        timestamp: 0,
        to: answer.socket,
        payload: Buffer.from(text),
      });
    for (const [n, text] of [
      [0, "a"],
      [2, "c"],
      [1, "b"],
      [1, "b"],
      [3, "d"],
    ] as const)
      send(data(n, text));
    await until(() => events.includes("d"));
    // The missing packet is requested; delivered and sent packets are observed separately.
    await until(() => answers.some(({ type, body }) => type === CONTROL.nak && readLosses(body)[0]![0] === 1235));
    // Repeats until the acknowledgement has itself been acknowledged.
    const acknowledgements = () =>
      answers.filter(({ type, body }) => type === CONTROL.ack && body.readUInt32BE(0) === 1238);
    await until(() => acknowledgements().length >= 3);
    send(
      writeControl({ type: CONTROL.ackAck, info: acknowledgements().at(-1)!.info, timestamp: 0, to: answer.socket }),
    );
    // Another client that has guessed the socket id.
    const other = open();
    await other.shake(asking({ version: 4, type: HANDSHAKE_TYPE.induction }));
    other.send(writeControl({ type: CONTROL.shutdown, timestamp: 0, to: answer.socket, body: Buffer.alloc(4) }));
    other.send(data(4, "x"));
    await other.shake(asking({ version: 4, type: HANDSHAKE_TYPE.induction }));
    send(data(5, "f"));
    send(writeControl({ type: CONTROL.shutdown, timestamp: 0, to: answer.socket, body: Buffer.alloc(4) }));
    await until(() => listener.connections() === 0);
    assert.deepEqual(events, ["in", "a", "b", "c", "d", "lost 1", "f", "clean"]);
    // A delayed conclusion must not start a connection.
    send(
      writeControl({
        type: CONTROL.handshake,
        timestamp: 0,
        to: 0,
        body: writeHandshake(asking({ cookie: induction.cookie, extensions: [abilities()] })),
      }),
    );
    assert.equal((await open().connect({ socket: 78, extensions: [abilities()] })).type, HANDSHAKE_TYPE.conclusion);
    assert.equal(listener.connections(), 1);
  });

  test("are rejected with a reason", async () => {
    const { events, open } = openCallers();
    const streamId = (text: string) => ({ type: EXTENSION.streamId, body: writeText(text) });
    let socket = 100;
    const refused = async (...given: Handshake["extensions"]) =>
      (await open().connect({ socket: socket++, extensions: given })).type;
    assert.equal(await refused(abilities(), streamId("no")), SRT_REJECTION.unauthorized);
    assert.equal(await refused(streamId("yes")), SRT_REJECTION.version);
    assert.equal(await refused(abilities(0, 0x010200)), SRT_REJECTION.version);
    assert.equal(await refused(abilities(SRT_FLAG.stream)), SRT_REJECTION.messageApi);
    assert.equal(
      await refused(abilities(), { type: EXTENSION.congestion, body: writeText("file") }),
      SRT_REJECTION.congestion,
    );
    assert.equal(await refused(abilities(), { type: EXTENSION.filter, body: writeText("fec") }), SRT_REJECTION.filter);
    assert.equal(
      await refused(abilities(), { type: EXTENSION.keyRequest, body: Buffer.alloc(56) }),
      SRT_REJECTION.unsecured,
    );
    assert.equal(await refused(abilities(), streamId("x".repeat(600))), SRT_REJECTION.badRequest);
    assert.deepEqual(events, []);
    for (let i = 0; i < 2; i++) assert.equal(await refused(abilities()), HANDSHAKE_TYPE.conclusion);
    assert.equal(await refused(abilities()), SRT_REJECTION.resource);
  });

  test("in one network leave capacity for others while they wait", async () => {
    let answer = () => {};
    const waits = new Promise<"unauthorized">((resolve) => (answer = () => resolve("unauthorized")));
    let requested = 0;
    const { open, until } = openCallers({ most: 100, lookUp: () => (requested++, waits) });
    const crowd = Array.from({ length: 10 }, (_, i) => open().connect({ socket: 200 + i, extensions: [abilities()] }));
    await until(() => requested === 10);
    assert.equal((await open().connect({ socket: 300, extensions: [abilities()] })).type, SRT_REJECTION.backlog);
    const other = open("127.0.0.2").connect({ socket: 301, extensions: [abilities()] });
    await until(() => requested === 11);
    answer();
    for (const { type } of await Promise.all([...crowd, other])) assert.equal(type, SRT_REJECTION.unauthorized);
  });

  test("whose handlers fail are disconnected without affecting others", async () => {
    const fail = (word: string) => {
      throw new Error(word);
    };
    const { listener, events, connections, open, until } = openCallers({
      lookUp: async ({ streamId }) => ({
        passphrase: "",
        accept: async () => () => ({
          data: () => streamId === "data" && fail("data"),
          lost: () => fail("lost"),
          ended: (clean) => void events.push(`${streamId} ${clean}`),
        }),
      }),
    });
    for (const [socket, streamId, first] of [
      [100, "data", 0],
      [101, "lost", 1],
    ] as const) {
      const { connect, send, answers } = open();
      const { socket: to } = await connect({
        socket,
        extensions: [abilities(), { type: EXTENSION.streamId, body: writeText(streamId) }],
      });
      for (const n of [first, first + 2])
        send(
          writeDataPacket({
            sequence: 1234 + n,
            key: "none",
            resent: false,
            message: 1,
            timestamp: 0,
            to,
            payload: Buffer.from("x"),
          }),
        );
      await until(() => answers.some(({ type }) => type === CONTROL.shutdown));
    }
    assert.deepEqual(connections, [1, 0, 1, 0]);
    assert.deepEqual(events, ["Error: data", "data false", "Error: lost", "lost false"]);
    assert.equal(listener.connections(), 0);
  });

  test("are notified when the listener closes, and when the lookup of their stream id fails", async () => {
    const { listener, events, open } = openCallers({
      lookUp: ({ streamId }) =>
        streamId === ""
          ? Promise.reject(new Error("no database"))
          : Promise.resolve({
              passphrase: "",
              accept: async () => () => ({
                data() {},
                lost() {},
                ended: (clean) => void events.push(`ended ${clean}`),
              }),
            }),
    });
    assert.equal((await open().connect({ extensions: [abilities()] })).type, SRT_REJECTION.serverError);
    const { connect, answers } = open();
    await connect({ extensions: [abilities(), { type: EXTENSION.streamId, body: writeText("yes") }] });
    listener.close();
    assert.ok(answers.some(({ type }) => type === CONTROL.shutdown));
    assert.deepEqual(events, ["Error: no database", "ended false"]);
  });
});
