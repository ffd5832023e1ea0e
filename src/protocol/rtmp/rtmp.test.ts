import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  createRtmpPeer,
  MESSAGE,
  readCommand,
  readMetadata,
  readStatus,
  type RtmpMessage,
  RtmpViolation,
  writeU32,
  USER_CONTROL,
  userControl,
  writeAmf0,
  writeCommand,
  writeStatus,
} from "./index.ts";
import { readAmf0, type AmfValue } from "./amf0.ts";
import { createRtmpChunkReader } from "./chunks-read.ts";
import { encodeMessage } from "./chunks-write.ts";
import { createHandshake } from "./handshake.ts";

/** Splits the bytes at the given offsets. */
function* cut(bytes: Buffer, cuts: readonly number[]): Iterable<Buffer> {
  const edges = [0, ...cuts.map((at) => at % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  for (let i = 0; i + 1 < edges.length; i++) yield bytes.subarray(edges[i], edges[i + 1]);
}

const encoded = (...given: Parameters<typeof encodeMessage>) => Buffer.concat(encodeMessage(...given));
const plain = ({ type, stream, time, data }: RtmpMessage) => ({ type, stream, time, data: data.toString("hex") });
const isViolation = (err: unknown) => err instanceof RtmpViolation;

const message = fc.record({
  type: fc.constantFrom(8, 9, 18, 20),
  stream: fc.integer({ min: 0, max: 0xffffffff }),
  time: fc.oneof(
    fc.integer({ min: 0, max: 0xffffffff }),
    fc.constantFrom(0, 0xfffffe, 0xffffff, 0x1000000, 0xffffffff),
  ),
  data: fc
    .oneof(fc.uint8Array({ maxLength: 700 }), fc.constant(Buffer.alloc(2500, 7)))
    .map((octets) => Buffer.from(octets)),
});

test("messages are read back as written, with any chunk size and however the stream is split", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: 2, max: 63 }), message), { maxLength: 8 }),
      fc.integer({ min: 1, max: 300 }),
      fc.array(fc.nat(), { maxLength: 12 }),
      fc.uint8Array({ maxLength: 8 }),
      (messages, size, cuts, given) => {
        const reader = createRtmpChunkReader({ maxMessageSize: 30_000 });
        reader.setChunkSize(size);
        const head = Buffer.from(given);
        const wire = Buffer.concat(messages.map(([id, one]) => encoded(id, one, size, head)));
        const read: RtmpMessage[] = [];
        for (const bytes of cut(wire, cuts)) read.push(...reader.push(bytes));
        assert.deepEqual(
          read.map(plain),
          messages.map(([, one]) => plain({ ...one, data: Buffer.concat([head, one.data]) })),
        );
      },
    ),
  );
});

test("the input buffer may be reused", () => {
  fc.assert(
    fc.property(
      fc.array(message, { minLength: 1, maxLength: 6 }),
      fc.array(fc.nat(), { maxLength: 12 }),
      (messages, cuts) => {
        const client: Buffer[] = [];
        const answers: Buffer[] = [];
        const sender = createRtmpPeer({
          role: "client",
          maxMessageSize: 10_000,
          write: (pieces) => void client.push(...pieces),
        });
        const server = createRtmpPeer({
          role: "server",
          maxMessageSize: 30_000,
          write: (pieces) => void answers.push(...pieces),
        });
        sender.startHandshake();
        // The content of C2 is not checked.
        client.push(Buffer.alloc(1536));
        for (const one of messages) sender.send(4, { ...one, type: MESSAGE.video });
        const memory = Buffer.alloc(client.reduce((octets, { length }) => octets + length, 0));
        const read: RtmpMessage[] = [];
        for (const piece of cut(Buffer.concat(client), cuts)) {
          piece.copy(memory);
          for (const one of server.push(memory.subarray(0, piece.length))) read.push(one);
          memory.fill(0xaa);
        }
        assert.deepEqual(Buffer.concat(answers).subarray(1 + 1536), client[0]!.subarray(1));
        assert.deepEqual(
          read.map(plain),
          messages.map((one) => plain({ ...one, type: MESSAGE.video })),
        );
      },
    ),
    { numRuns: 50 },
  );
});

test("invalid data is either read or rejected with RtmpViolation", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 400 }), { maxLength: 6 }), (pieces) => {
      const reader = createRtmpChunkReader({ maxMessageSize: 1000 });
      try {
        for (const piece of pieces)
          for (const { data } of reader.push(Buffer.from(piece))) assert.ok(data.length <= 1000);
      } catch (err) {
        if (!(err instanceof RtmpViolation)) throw err;
      }
    }),
    { numRuns: 500 },
  );
});

/** Returns a chunk in which the test specifies every field. */
const chunk = (format: number, id: number, head: number[], data: number[]) =>
  Buffer.from([(format << 6) | id, ...head, ...data]);

test("shorter headers inherit fields from earlier ones (5.3.1.2)", () => {
  const reader = createRtmpChunkReader({ maxMessageSize: 100 });
  const wire = Buffer.concat([
    chunk(0, 4, [0, 0, 40, 0, 0, 1, 8, 1, 0, 0, 0], [1]),
    chunk(1, 4, [0, 0, 10, 0, 0, 2, 8], [2, 2]),
    chunk(2, 4, [0, 0, 7], [3, 3]),
    chunk(3, 4, [], [4, 4]),
    // A full timestamp also becomes the delta.
    chunk(0, 6, [0, 0, 20, 0, 0, 1, 9, 1, 0, 0, 0], [5]),
    chunk(3, 6, [], [6]),
  ]);
  assert.deepEqual(
    [...reader.push(wire)].map(({ type, time, data }) => [type, time, ...data]),
    [
      [8, 40, 1],
      [8, 50, 2, 2],
      [8, 57, 3, 3],
      [8, 64, 4, 4],
      [9, 20, 5],
      [9, 40, 6],
    ],
  );
});

test("reads interleaved chunks, ids of two and three octets, and timestamps omitted in later chunks", () => {
  const reader = createRtmpChunkReader({ maxMessageSize: 1000 });
  reader.setChunkSize(2);
  const wire = Buffer.concat([
    Buffer.from([0x00, 6, 0xff, 0xff, 0xff, 0, 0, 4, 9, 1, 0, 0, 0, 1, 0, 0, 0, 1, 2]),
    Buffer.from([0x01, 0, 1, 0, 0, 5, 0, 0, 3, 8, 1, 0, 0, 0, 7, 7]),
    Buffer.from([0xc0, 6, 3, 4]),
    Buffer.from([0xc1, 0, 1, 8]),
  ]);
  assert.deepEqual(
    [...reader.push(wire)].map(({ type, time, data }) => [type, time, ...data]),
    [
      [9, 0x01000000, 1, 2, 3, 4],
      [8, 5, 7, 7, 8],
    ],
  );
});

test("data above the limit is rejected when its header is read, in one message or in several", () => {
  assert.throws(
    () => [
      ...createRtmpChunkReader({ maxMessageSize: 10 }).push(
        encoded(4, { type: 8, stream: 1, time: 0, data: Buffer.alloc(11) }, 128),
      ),
    ],
    isViolation,
  );
  const halves = [4, 5].map((id) =>
    encoded(id, { type: 8, stream: 1, time: 0, data: Buffer.alloc(200) }, 128).subarray(0, 12 + 128),
  );
  assert.throws(() => [...createRtmpChunkReader({ maxMessageSize: 300 }).push(Buffer.concat(halves))], isViolation);
  assert.throws(
    () => [...createRtmpChunkReader({ maxMessageSize: 300 }).push(Buffer.from([0xc4]))],
    /refers to one before/,
  );
  const many = Buffer.concat(
    Array.from({ length: 65 }, (_, i) =>
      encoded(2, { type: 8, stream: 1, time: 0, data: Buffer.alloc(0) }, 128).fill(i < 62 ? 2 + i : 0, 0, 1),
    ),
  );
  assert.equal([...createRtmpChunkReader({ maxMessageSize: 300 }).push(many.subarray(0, 12 * 62))].length, 62);
});

test("an abort discards a partial message", () => {
  const reader = createRtmpChunkReader({ maxMessageSize: 1000 });
  const whole = encoded(4, { type: 8, stream: 1, time: 0, data: Buffer.alloc(200, 1) }, 128);
  assert.deepEqual([...reader.push(whole.subarray(0, 140))], []);
  reader.abort(4);
  assert.deepEqual(
    [...reader.push(encoded(4, { type: 8, stream: 1, time: 3, data: Buffer.from([9]) }, 128))].map(({ data }) => [
      ...data,
    ]),
    [[9]],
  );
});

const amf: fc.Arbitrary<AmfValue> = fc.letrec<{ value: AmfValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", maxDepth: 5 },
    fc.double({ noNaN: true }),
    fc.boolean(),
    fc.string({ unit: "grapheme" }),
    fc.constant(null),
    fc.constant(undefined),
    fc.date({ noInvalidDate: true }),
    fc.array(tie("value"), { maxLength: 4 }),
    fc
      .dictionary(fc.string({ minLength: 1 }), tie("value"), { maxKeys: 4, noNullPrototype: false })
      .map((object) => Object.assign(Object.create(null) as object, object) as AmfValue),
  ),
})).value;

test("AMF 0 values are read back as written", () => {
  fc.assert(
    fc.property(fc.array(amf, { maxLength: 5 }), (values) => assert.deepEqual(readAmf0(writeAmf0(...values)), values)),
  );
  const long = "x".repeat(70_000);
  assert.deepEqual(readAmf0(writeAmf0(long)), [long]);
});

test("invalid AMF 0 is rejected at low cost", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (octets) => {
      try {
        readAmf0(Buffer.from(octets));
      } catch (err) {
        assert.ok(isViolation(err));
      }
    }),
    { numRuns: 500 },
  );
  assert.throws(() => readAmf0(Buffer.from([10, 0xff, 0xff, 0xff, 0xff])), isViolation);
  assert.throws(
    () => readAmf0(Buffer.concat(Array.from({ length: 2000 }, () => Buffer.from([10, 0, 0, 0, 1])))),
    /nested/,
  );
});

test("a name such as __proto__ is an ordinary name", () => {
  const [object] = readAmf0(
    Buffer.concat([Buffer.from([3, 0, 9]), Buffer.from("__proto__"), writeAmf0({ x: 1 }), Buffer.from([0, 0, 9])]),
  ) as [Record<string, unknown>];
  assert.deepEqual(Object.keys(object), ["__proto__"]);
  assert.equal((object as { x?: unknown }).x, undefined);
});

test("commands, statuses and metadata are read as sent", () => {
  const as = (type: number, data: Buffer): RtmpMessage => ({ type, stream: 0, time: 0, data });
  const connect = readCommand(as(MESSAGE.command, writeCommand("connect", 1, { app: "live" }, "more")))!;
  assert.deepEqual(
    [connect.name, connect.transaction, connect.object!["app"], connect.args],
    ["connect", 1, "live", ["more"]],
  );
  assert.equal(
    readCommand(as(MESSAGE.commandAmf3, Buffer.concat([Buffer.from([0]), writeCommand("connect", 1, null)])))!.object,
    undefined,
  );
  assert.equal(readCommand(as(MESSAGE.audio, Buffer.alloc(3))), undefined);
  assert.throws(() => readCommand(as(MESSAGE.command, writeAmf0(1))), isViolation);
  assert.deepEqual(
    readStatus(readCommand(as(MESSAGE.command, writeStatus("error", "NetStream.Publish.BadName", "no")))!),
    { level: "error", code: "NetStream.Publish.BadName", description: "no" },
  );
  for (const words of [["@setDataFrame", "onMetaData"], ["onMetaData"]])
    assert.equal(readMetadata(as(MESSAGE.data, writeAmf0(...words, { width: 320 })))!["width"], 320);
  assert.equal(readMetadata(as(MESSAGE.data, writeAmf0("onTextData", {}))), undefined);
});

test("the first octet determines whether a handshake starts", () => {
  assert.throws(() => createHandshake("server").push(Buffer.from("GET / HTTP/1.1\r\n")), /RTMP version 71/);
  assert.deepEqual(createHandshake("server").push(Buffer.from([3])), {});
});

test("two peers complete the handshake, acknowledge, answer pings and accept chunk sizes, however the stream is split", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(), { maxLength: 10 }), (cuts) => {
      const wires = { server: [] as Buffer[], client: [] as Buffer[] };
      const peers = {
        server: createRtmpPeer({
          role: "server",
          maxMessageSize: 100_000,
          write: (pieces) => void wires.client.push(...pieces),
        }),
        client: createRtmpPeer({
          role: "client",
          maxMessageSize: 100_000,
          write: (pieces) => void wires.server.push(...pieces),
        }),
      };
      const got: RtmpMessage[] = [];
      const run = () => {
        while (wires.server.length + wires.client.length > 0) {
          for (const side of ["server", "client"] as const)
            for (const piece of cut(Buffer.concat(wires[side].splice(0)), cuts))
              for (const one of peers[side].push(piece)) got.push(one);
        }
      };
      peers.client.startHandshake();
      run();
      assert.ok(peers.server.isHandshakeComplete && peers.client.isHandshakeComplete);
      peers.server.control(MESSAGE.windowSize, writeU32(500));
      peers.server.control(MESSAGE.userControl, userControl(USER_CONTROL.pingRequest, 77));
      peers.server.setChunkSize(5000);
      peers.server.send(6, { type: MESSAGE.video, stream: 1, time: 5, data: Buffer.alloc(20_000, 3) });
      run();
      assert.deepEqual(
        got.map(({ data }) => data.length),
        [20_000],
      );
    }),
    { numRuns: 50 },
  );
});
