import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { signMessage, type TsigKey, verifyReply } from "./tsig.ts";

const key: TsigKey = { name: "key.example", algorithm: "hmac-sha256", secret: Buffer.from("secret") };
const NOW = Date.UTC(2026, 1, 1);
const u16 = (value: number) => Buffer.from([value >> 8, value & 255]);
const name = (text: string) =>
  Buffer.concat([...text.split(".").map((label) => Buffer.from([label.length, ...Buffer.from(label)])), Buffer.of(0)]);
const time48 = (seconds: number) => Buffer.from(seconds.toString(16).padStart(12, "0"), "hex");

/** A message consisting of a header only, with the id of the request. */
const empty = Buffer.concat([u16(7), u16(0xa800), Buffer.alloc(8)]);

/**
 * Returns a reply signed over the request's MAC with its length prefix, the message, and the TSIG variables (RFC 8945
 * 4.3).
 */
function signedReply(
  requestMac: Buffer,
  { seconds = NOW / 1000, fudge = 300, error = 0, secret = key.secret, id = 7 } = {},
): Buffer {
  const head = [time48(seconds), u16(fudge)];
  const variables = Buffer.concat([
    name(key.name),
    u16(255),
    Buffer.alloc(4),
    name(key.algorithm),
    ...head,
    u16(error),
    u16(0),
  ]);
  const mac = createHmac("sha256", secret)
    .update(Buffer.concat([u16(requestMac.length), requestMac, empty, variables]))
    .digest();
  const data = Buffer.concat([name(key.algorithm), ...head, u16(mac.length), mac, u16(id), u16(error), u16(0)]);
  const record = Buffer.concat([name(key.name), u16(250), u16(255), Buffer.alloc(4), u16(data.length), data]);
  const message = Buffer.concat([empty, record]);
  message.writeUInt16BE(1, 10);
  return message;
}

const { mac } = signMessage(empty, key, NOW);
const verdict = (reply: Buffer, now = NOW) => verifyReply(reply, key, mac, now);

test("accepts a reply within its fudge and rejects it one second later (RFC 8945 5.2.3)", () => {
  assert.equal(verdict(signedReply(mac)), "good");
  for (const seconds of [300, -300])
    assert.equal(verdict(signedReply(mac), NOW + seconds * 1000), "good", String(seconds));
  for (const seconds of [301, -301])
    assert.equal(verdict(signedReply(mac), NOW + seconds * 1000), "badTime", String(seconds));
});

test("rejects as forged a reply to a different request, one signed with a different key, and one with a changed message", () => {
  assert.equal(verdict(signedReply(Buffer.alloc(32))), "forged");
  assert.equal(verdict(signedReply(mac, { secret: Buffer.from("other") })), "forged");
  const changed = signedReply(mac);
  changed[2] = changed[2]! ^ 1;
  assert.equal(verdict(changed), "forged");
});

test("reports a signed TSIG error, and a reply without a signature as unsigned", () => {
  assert.equal(verdict(signedReply(mac, { error: 18 })), "badTime");
  assert.equal(verdict(empty), "unsigned");
});
