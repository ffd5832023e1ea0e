import assert from "node:assert/strict";
import { createCipheriv, pbkdf2Sync, randomBytes } from "node:crypto";
import { test } from "node:test";
import * as fc from "fast-check";
import { EXTENSION, readCapabilities, readHandshake, readPaddedText, writeHandshake, writeText } from "./handshake.ts";
import { openKeys, type SrtKeys } from "./keys.ts";
import { CONTROL, type ControlPacket, readLosses, readPacket, writeDataPacket, writeLosses } from "./packets.ts";
import { abilities, asking } from "./srt.testing.ts";
import { sequenceDistance, nextMessage, nextSequence, plusSequence } from "./sequence.ts";

const sequence = fc.integer({ min: 0, max: 2 ** 31 - 1 });
const octets = (max: number) => fc.uint8Array({ maxLength: max }).map((bytes) => Buffer.from(bytes));

test("sequence numbers continue across a wraparound", () => {
  assert.deepEqual([nextSequence(2 ** 31 - 1), plusSequence(0, -1), nextMessage(0x03ff_ffff)], [0, 2 ** 31 - 1, 1]);
  fc.assert(
    fc.property(sequence, fc.integer({ min: -(2 ** 29), max: 2 ** 29 }), (from, by) =>
      assert.equal(sequenceDistance(from, plusSequence(from, by)), by),
    ),
  );
});

test("packets are read back as written, and other input is harmless", () => {
  fc.assert(
    fc.property(
      sequence,
      fc.constantFrom("none" as const, "even" as const, "odd" as const),
      fc.boolean(),
      fc.integer({ min: 0, max: 2 ** 26 - 1 }),
      fc.nat(2 ** 32 - 1),
      octets(1456),
      (sequence, key, resent, message, timestamp, payload) => {
        assert.deepEqual(readPacket(writeDataPacket({ sequence, key, resent, message, timestamp, to: 7, payload })), {
          kind: "data",
          sequence,
          key,
          resent,
          message,
          timestamp,
          to: 7,
          payload,
        });
      },
    ),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(sequence, fc.nat(100)), { maxLength: 100 }), (given) => {
      const ranges = given.map(([from, more]) => [from, plusSequence(from, more)] as const);
      assert.deepEqual(readLosses(writeLosses(ranges)), ranges);
    }),
  );
  fc.assert(
    fc.property(octets(1600), (bytes) => {
      const packet = readPacket(bytes);
      if (packet?.kind !== "control") return;
      readLosses(packet.body);
      const handshake = readHandshake({ ...packet, type: CONTROL.handshake });
      for (const { body } of handshake?.extensions ?? []) {
        readPaddedText(body);
        readCapabilities(body);
      }
    }),
  );
});

test("handshakes are read back as written", () => {
  fc.assert(
    fc.property(
      fc.string({ maxLength: 128 }).filter((text) => !text.includes("\0") && text.isWellFormed()),
      (text) => assert.equal(readPaddedText(writeText(text)), text),
    ),
  );
  // The text "#!::m" as sent by libsrt (words with reversed octets).
  assert.equal(readPaddedText(Buffer.from("3a3a21230000006d", "hex")), "#!::m");
  const given = asking({ extensions: [abilities(), { type: EXTENSION.streamId, body: writeText("abc") }] });
  assert.deepEqual(readHandshake({ type: CONTROL.handshake, body: writeHandshake(given) } as ControlPacket), given);
});

/** Returns a caller's key message, built independently of the code that reads it. */
function keyMessage(passphrase: string, keys: Buffer[], which: 1 | 2 | 3, salt: Buffer): Buffer {
  const size = keys[0]!.length;
  const kek = pbkdf2Sync(passphrase, salt.subarray(8), 2048, size, "sha1");
  const cipher = createCipheriv(`id-aes${size * 8}-wrap`, kek, Buffer.alloc(8, 0xa6));
  return Buffer.concat([
    Buffer.from([0x12, 0x20, 0x29, which, 0, 0, 0, 0, 2, 0, 2, 0, 0, 0, 4, size / 4]),
    salt,
    cipher.update(Buffer.concat(keys)),
    cipher.final(),
  ]);
}

test("keys are unwrapped with the right passphrase, used, and replaced during the connection", async () => {
  const salt = randomBytes(16);
  for (const size of [16, 24, 32]) {
    const [first, second] = [randomBytes(size), randomBytes(size)];
    const message = keyMessage("right", [first], 1, salt);
    assert.equal(await openKeys(message, "wrong"), "passphrase");
    assert.equal(await openKeys(message.subarray(1), "right"), "malformed");
    const keys = (await openKeys(message, "right")) as SrtKeys;
    assert.deepEqual([keys.size, keys.name], [size, "even"]);
    // The block according to the standard: the salt, with the packet number in octets 10 to 13, and the counter.
    const block = Buffer.concat([salt.subarray(0, 14), Buffer.alloc(2)]);
    block.writeUInt32BE((block.readUInt32BE(10) ^ 0x70605040) >>> 0, 10);
    const sealed = createCipheriv(`aes-${size * 8}-ctr`, first, block).update("something to be seen");
    assert.equal(keys.crypt("even", 0x70605040, sealed)?.toString(), "something to be seen");
    assert.equal(keys.crypt("odd", 1, sealed), undefined);
    assert.equal(keys.refresh(keyMessage("wrong", [second], 2, salt)), false);
    assert.equal(keys.refresh(keyMessage("right", [first, second], 3, salt)), true);
    assert.equal(keys.crypt("odd", 1, keys.crypt("odd", 1, sealed)!)?.equals(sealed), true);
  }
  await fc.assert(
    fc.asyncProperty(fc.nat(55), fc.nat(255), async (at, octet) => {
      const message = keyMessage("right", [randomBytes(16)], 1, salt);
      message[at] = octet;
      await openKeys(message, "right");
    }),
    { numRuns: 50 },
  );
});
