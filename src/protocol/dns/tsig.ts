import { createHmac, timingSafeEqual } from "node:crypto";
import { readDnsMessage } from "./message.ts";
import { MalformedMessage, type RawRecord, readUncompressedName } from "./wire-reader.ts";
import { createWireWriter, type WireWriter } from "./wire-writer.ts";

/** Algorithms in RFC 8945 6 without a known weakness. */
const TSIG_ALGORITHMS = ["hmac-sha256", "hmac-sha384", "hmac-sha512"] as const;
type TsigAlgorithm = (typeof TSIG_ALGORITHMS)[number];

export interface TsigKey {
  /** Name in normal form, under which both sides store the secret. */
  name: string;
  algorithm: TsigAlgorithm;
  secret: Buffer;
}

/**
 * Reads `algorithm:name:secret`, with the secret in base64, as accepted by BIND's tools; undefined for anything else.
 */
export function readTsigKey(text: string): TsigKey | undefined {
  const [algorithm, name, secret, ...more] = text.split(":");
  const knownAlgorithm = TSIG_ALGORITHMS.find((candidate) => candidate === algorithm?.toLowerCase());
  if (knownAlgorithm === undefined || !name || !secret || more.length > 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(secret))
    return undefined;
  return {
    name: name.toLowerCase().replace(/\.$/, ""),
    algorithm: knownAlgorithm,
    secret: Buffer.from(secret, "base64"),
  };
}

/**
 * "unsigned": the responder does not have the key, or is not the intended server. "badSignature", "badKey" and
 * "badTime" are errors reported by the server (RFC 8945 5.3.2).
 */
export type TsigVerdict = "good" | "unsigned" | "forged" | "badSignature" | "badKey" | "badTime";

const TSIG = 250;
const ANY = 255;
const FUDGE_S = 300;
const REPORTED_ERRORS = new Map<number, TsigVerdict>([
  [16, "badSignature"],
  [17, "badKey"],
  [18, "badTime"],
]);

/**
 * Returns `message` with the signature as its last record. `mac` is required to verify the reply. `now` is in epoch
 * milliseconds.
 */
export function signMessage(message: Buffer, key: TsigKey, now: number): { signed: Buffer; mac: Buffer } {
  const time = Math.floor(now / 1000);
  const mac = macOf(key, [message, tsigVariables(key, time, 0, Buffer.alloc(0))]);
  const out = createWireWriter();
  out.bytes(message);
  out.name(key.name, false);
  out.u16(TSIG);
  out.u16(ANY);
  out.u32(0);
  out.lengthPrefixed(() => {
    out.name(key.algorithm, false);
    writeTime(time, out);
    out.u16(mac.length);
    out.bytes(mac);
    out.u16(message.readUInt16BE(0));
    out.u16(0);
    out.u16(0);
  });
  out.setU16(10, message.readUInt16BE(10) + 1);
  return { signed: out.finish(), mac };
}

/** Verifies that the reply to a signed message was signed with the key (RFC 8945 5.3). Throws MalformedMessage. */
export function verifyReply(reply: Buffer, key: TsigKey, requestMac: Buffer, now: number): TsigVerdict {
  // RFC 8945 5.1: TSIG is the last record of the additional section.
  const record = readDnsMessage(reply).additionals.at(-1);
  if (record?.type !== TSIG) return "unsigned";
  const tsig = readTsig(record);
  const reportedVerdict = REPORTED_ERRORS.get(tsig.error);
  // An error about the key or signature cannot be signed; an error about the time is signed.
  if (tsig.mac.length === 0) return reportedVerdict ?? "unsigned";
  const unsignedReply = Buffer.from(reply.subarray(0, record.start));
  unsignedReply.writeUInt16BE(tsig.originalId, 0);
  unsignedReply.writeUInt16BE(reply.readUInt16BE(10) - 1, 10);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(requestMac.length);
  const expected = macOf(key, [
    length,
    requestMac,
    unsignedReply,
    tsigVariables(key, tsig.time, tsig.error, tsig.other),
  ]);
  if (expected.length !== tsig.mac.length || !timingSafeEqual(expected, tsig.mac)) return "forged";
  if (reportedVerdict !== undefined) return reportedVerdict;
  return Math.abs(tsig.time - Math.floor(now / 1000)) > tsig.fudge ? "badTime" : "good";
}

const macOf = ({ algorithm, secret }: TsigKey, parts: Buffer[]) =>
  parts.reduce((hmac, part) => hmac.update(part), createHmac(algorithm.slice("hmac-".length), secret)).digest();

/** RFC 8945 4.3.3. */
function tsigVariables(key: TsigKey, time: number, error: number, other: Buffer): Buffer {
  const out = createWireWriter();
  out.name(key.name, false);
  out.u16(ANY);
  out.u32(0);
  out.name(key.algorithm, false);
  writeTime(time, out);
  out.u16(error);
  out.u16(other.length);
  out.bytes(other);
  return out.finish();
}

function writeTime(time: number, out: WireWriter): void {
  out.u16(Math.floor(time / 2 ** 32));
  out.u32(time % 2 ** 32);
  out.u16(FUDGE_S);
}

function readTsig({ data }: RawRecord) {
  const { end: at } = readUncompressedName(data, 0);
  const requireLength = (length: number) => {
    if (data.length < length) throw new MalformedMessage("the TSIG data is truncated");
  };
  requireLength(at + 10);
  const rest = at + 10 + data.readUInt16BE(at + 8);
  requireLength(rest + 6);
  return {
    time: data.readUIntBE(at, 6),
    fudge: data.readUInt16BE(at + 6),
    mac: data.subarray(at + 10, rest),
    originalId: data.readUInt16BE(rest),
    error: data.readUInt16BE(rest + 2),
    other: data.subarray(rest + 6, rest + 6 + data.readUInt16BE(rest + 4)),
  };
}
