import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { encodeClose, encodeFrame, OPCODE } from "./frames.ts";
import { createMessageReader, type MessageReaderOptions, type SocketEvent } from "./messages.ts";
import { WebSocketViolation } from "./violation.ts";

const MASK = Buffer.from([1, 2, 3, 250]);
const masked = (opcode: number, payload: string | Uint8Array, fin = true) =>
  encodeFrame(opcode, Buffer.from(payload), { fin, mask: MASK });
const { text, binary, continuation, ping, pong, close } = OPCODE;

/** Returns the events read from `wire`, split at the given offsets. */
function read(
  wire: Uint8Array,
  { cuts = [], ...options }: Partial<MessageReaderOptions> & { cuts?: number[] } = {},
): SocketEvent[] {
  const reader = createMessageReader({ maxMessage: 1000, ...options });
  const edges = [0, ...cuts.map((cut) => cut % (wire.length + 1)).sort((a, b) => a - b), wire.length];
  return edges.slice(1).flatMap((edge, i) => [...reader.push(wire.subarray(edges[i], edge))]);
}

const codeOf = (wire: Uint8Array, options?: Partial<MessageReaderOptions>): number | undefined => {
  try {
    read(wire, options);
    return undefined;
  } catch (err) {
    if (!(err instanceof WebSocketViolation)) throw err;
    return err.code;
  }
};
const bytes = (...values: number[]) => Uint8Array.from(values);

test("reads the example frames of RFC 6455 5.7", () => {
  assert.deepEqual(read(bytes(0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58)), [
    { kind: "text", text: "Hello" },
  ]);
  assert.deepEqual(read(bytes(0x01, 0x03, 0x48, 0x65, 0x6c, 0x80, 0x02, 0x6c, 0x6f), { acceptUnmasked: true }), [
    { kind: "text", text: "Hello" },
  ]);
  assert.deepEqual([...encodeFrame(text, Buffer.from("Hello"))], [0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f]);
  assert.deepEqual([...encodeFrame(binary, Buffer.alloc(256))].slice(0, 4), [0x82, 0x7e, 0x01, 0x00]);
  assert.deepEqual([...encodeFrame(binary, Buffer.alloc(65_536))].slice(0, 10), [0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0]);
});

test("rejects an unmasked frame unless allowed; one connection may use both kinds", () => {
  const plain = encodeFrame(text, Buffer.from('{"debug":false}'));
  assert.equal(codeOf(plain), 1002);
  assert.deepEqual(read(Buffer.concat([plain, masked(text, "ping")]), { acceptUnmasked: true }), [
    { kind: "text", text: '{"debug":false}' },
    { kind: "text", text: "ping" },
  ]);
});

test("reads control frames between fragments", () => {
  const wire = Buffer.concat([
    masked(text, "a€".slice(0, 1), false),
    masked(ping, "now"),
    masked(continuation, Buffer.from("€").subarray(0, 1), false),
    masked(pong, ""),
    masked(continuation, Buffer.from("€").subarray(1)),
    masked(close, Buffer.from([3, 232, 98, 121, 101])),
  ]);
  assert.deepEqual(read(wire), [
    { kind: "ping", payload: Buffer.from("now") },
    { kind: "pong", payload: Buffer.alloc(0) },
    { kind: "text", text: "a€" },
    { kind: "close", code: 1000, reason: "bye" },
  ]);
});

test("ignores everything after a close frame", () => {
  assert.deepEqual(read(Buffer.concat([masked(close, ""), Buffer.alloc(50, 0xff)])), [{ kind: "close", reason: "" }]);
});

const VIOLATIONS: [what: string, wire: Uint8Array, code: number][] = [
  ["a reserved bit", bytes(0xc1, 0x80, 0, 0, 0, 0), 1002],
  ["a reserved opcode", masked(3, ""), 1002],
  ["a reserved control opcode", masked(0xb, ""), 1002],
  ["a ping in fragments", masked(ping, "", false), 1002],
  ["a ping of 126 octets", masked(ping, Buffer.alloc(126)), 1002],
  ["a continuation of nothing", masked(continuation, "x"), 1002],
  ["a text inside a text", Buffer.concat([masked(text, "a", false), masked(text, "b")]), 1002],
  ["a close of one octet", masked(close, "x"), 1002],
  ["a close with code 1005", masked(close, bytes(0x03, 0xed)), 1002],
  ["a close with code 2999", masked(close, bytes(0x0b, 0xb7)), 1002],
  ["a close whose reason is not UTF-8", masked(close, bytes(0x03, 0xe8, 0xff)), 1007],
  ["a text that is not UTF-8", masked(text, bytes(0xc3, 0x28)), 1007],
  ["a text that ends inside a character", masked(text, bytes(0xe2, 0x82)), 1007],
  ["a length in more octets than it needs", bytes(0x82, 0xfe, 0, 125), 1002],
  ["a long length in more octets than it needs", bytes(0x82, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff), 1002],
  ["a length of 2^63", bytes(0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0), 1002],
  ["a frame that is too long", bytes(0x82, 0xfe, 0x03, 0xe9), 1009],
  [
    "a message that is too long in its fragments",
    Buffer.concat([masked(binary, Buffer.alloc(600), false), masked(continuation, Buffer.alloc(401))]),
    1009,
  ],
];
for (const [what, wire, code] of VIOLATIONS) {
  // Some violations are detected from the header alone, without the rest of the frame.
  test(`${what} closes with ${code}`, () => assert.equal(codeOf(Buffer.concat([wire, Buffer.alloc(12)])), code));
}

test("truncates a close reason between characters to fit a control frame", () => {
  const [event] = read(encodeClose(1000, "é".repeat(100)), { acceptUnmasked: true });
  assert.deepEqual(event, { kind: "close", code: 1000, reason: "é".repeat(61) });
});

const anyMessage = fc.record({
  isText: fc.boolean(),
  text: fc.string({ unit: "binary", maxLength: 300 }),
  cuts: fc.array(fc.nat(300), { maxLength: 3 }),
  mask: fc.option(fc.uint8Array({ minLength: 4, maxLength: 4 })),
});

test("reads everything that is sent, regardless of chunking", () => {
  fc.assert(
    fc.property(fc.array(anyMessage, { maxLength: 6 }), fc.array(fc.nat(5000), { maxLength: 12 }), (messages, cuts) => {
      const wire = Buffer.concat(
        messages.flatMap(({ isText, text: content, cuts: at, mask }) => {
          const payload = Buffer.from(content);
          const edges = [0, ...at.map((cut) => cut % (payload.length + 1)).sort((a, b) => a - b), payload.length];
          return edges.slice(1).map((edge, i) =>
            encodeFrame(i > 0 ? continuation : isText ? text : binary, payload.subarray(edges[i], edge), {
              fin: i === edges.length - 2,
              ...(mask && { mask }),
            }),
          );
        }),
      );
      const expected = messages.map(({ isText, text: content }) =>
        isText ? { kind: "text", text: content } : { kind: "binary", bytes: Buffer.from(content) },
      );
      assert.deepEqual(read(wire, { cuts, acceptUnmasked: true, maxMessage: 2000 }), expected);
    }),
  );
});

test("any bytes are either messages or a violation, regardless of chunking", () => {
  const outcome = (wire: Uint8Array, cuts: number[]) => {
    const seen: SocketEvent[] = [];
    const reader = createMessageReader({ maxMessage: 300, acceptUnmasked: true });
    const edges = [0, ...cuts.map((cut) => cut % (wire.length + 1)).sort((a, b) => a - b), wire.length];
    try {
      for (let i = 1; i < edges.length; i++)
        for (const event of reader.push(wire.subarray(edges[i - 1], edges[i]))) seen.push(event);
      return { seen };
    } catch (err) {
      if (!(err instanceof WebSocketViolation)) throw err;
      return { seen, code: err.code };
    }
  };
  // Plausible headers, so that more than the first octet is tested.
  const likely = fc
    .tuple(
      fc.constantFrom(0x81, 0x82, 0x01, 0x80, 0x88, 0x89),
      fc.integer({ min: 0, max: 255 }),
      fc.uint8Array({ maxLength: 40 }),
    )
    .map(([first, second, rest]) => Uint8Array.from([first, second, ...rest]));
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array({ maxLength: 400 }),
        fc.array(likely, { maxLength: 8 }).map((parts) => Buffer.concat(parts) as Uint8Array),
      ),
      fc.array(fc.nat(400), { maxLength: 8 }),
      (wire, cuts) => {
        assert.deepEqual(outcome(wire, cuts), outcome(wire, []));
      },
    ),
    { numRuns: 300 },
  );
});
