import assert from "node:assert/strict";
import { test } from "node:test";
import { abortMessage, createRpcMessageReader } from "./rpc-messages.ts";

/**
 * Builds a message of this kind: a segment with the root pointer, the union and further words, and optionally more
 * segments. `union` is a discriminant at a byte offset of the struct to which the union points.
 */
function message(kind: number, { words = 4, segments = 1, offset = 0, union = [0, 0] } = {}): Buffer {
  const table = Math.ceil((1 + segments) / 2) * 8;
  const bytes = Buffer.alloc(table + (2 + offset + words * segments) * 8);
  bytes.writeUInt32LE(segments - 1, 0);
  for (let i = 0; i < segments; i++) bytes.writeUInt32LE(i === 0 ? 2 + offset + words : words, 4 + 4 * i);
  bytes.writeUInt32LE(offset << 2, table);
  bytes.writeUInt16LE(1, table + 4);
  bytes.writeUInt16LE(kind, table + 8 + offset * 8);
  bytes.writeUInt16LE(1, table + 6);
  // The struct begins two words behind its pointer.
  const pointer = table + 16 + offset * 8;
  bytes.writeUInt32LE(2 << 2, pointer);
  bytes.writeUInt16LE(union[1]!, pointer + 24 + union[0]!);
  return bytes;
}

const [CALL, RETURN, FINISH, RESOLVE, BOOTSTRAP] = [2, 3, 4, 5, 8];
/** Where Return and Resolve say that they carry an exception. */
const RETURN_EXCEPTION = [6, 1];
const RESOLVE_EXCEPTION = [4, 1];

function read(chunks: Iterable<Buffer>): string {
  let seen = "";
  const reader = createRpcMessageReader({
    call: () => void (seen += "c"),
    answer: ({ isException }) => void (seen += isException ? "x" : "a"),
    broken: () => void (seen += "b"),
  });
  for (const chunk of chunks) reader(chunk);
  return seen;
}

test("counts calls and returns, however the stream is split", () => {
  const stream = Buffer.concat([
    message(BOOTSTRAP),
    message(CALL, { words: 300 }),
    message(FINISH),
    message(CALL, { segments: 4, offset: 3 }),
    message(RETURN, { segments: 2 }),
    abortMessage("x"),
    message(RETURN),
    message(RESOLVE),
    message(RETURN, { union: RETURN_EXCEPTION }),
    message(RESOLVE, { union: RESOLVE_EXCEPTION, segments: 3, words: 300 }),
    message(RETURN, { union: RETURN_EXCEPTION, words: 300, offset: 2 }),
  ]);
  for (const size of [1, 3, 7, 8, 9, 100, stream.length]) {
    const chunks = Array.from({ length: Math.ceil(stream.length / size) }, (_, i) =>
      stream.subarray(i * size, (i + 1) * size),
    );
    assert.equal(read(chunks), "cccaaxbx", `chunks of ${size}`);
  }
});

test("ignores messages that are malformed or too short for their root", () => {
  const wild = message(CALL);
  wild.writeInt32LE(0x7fff_fff0, 8);
  const farAway = message(RETURN, { union: RETURN_EXCEPTION });
  farAway.writeInt32LE(0x7fff_fff0, 24);
  const cut = Buffer.from(message(RETURN, { union: RETURN_EXCEPTION }).subarray(0, 6 * 8));
  cut.writeUInt32LE(5, 4);
  const otherSegment = message(RETURN, { union: RETURN_EXCEPTION });
  otherSegment.writeInt32LE(2, 24);
  const backwards = message(CALL);
  backwards.writeInt32LE(-4 << 2, 8);
  assert.equal(read([farAway, otherSegment, cut]), "aaa");
  assert.equal(read([wild, backwards, Buffer.from([0, 0, 0, 0, 0, 0, 0, 0]), message(CALL)]), "c");
  assert.equal(read([Buffer.alloc(100, 0xff), message(CALL)]), "");
});
