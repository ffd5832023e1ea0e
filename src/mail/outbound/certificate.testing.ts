import { createPublicKey, generateKeyPairSync, randomBytes, sign, type KeyObject } from "node:crypto";

/** A certificate that signed itself, for `names`, good for a day either way. PEM. */
export function selfSigned(...names: string[]): { key: string; cert: string } {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const ecdsaSha256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
  const body = toBeSigned(names, privateKey, ecdsaSha256);
  const certificate = sequence(body, ecdsaSha256, bitString(sign("sha256", body, privateKey)));
  const pem = `-----BEGIN CERTIFICATE-----\n${certificate.toString("base64").replace(/(.{64})/g, "$1\n").trim()}\n-----END CERTIFICATE-----\n`;
  return { key: privateKey.export({ type: "pkcs8", format: "pem" }) as string, cert: pem };
}

/** RFC 5280 4.1: only what a client looks at. */
function toBeSigned(names: string[], key: KeyObject, algorithm: Buffer): Buffer {
  const name = sequence(set(sequence(oid(0x55, 0x04, 0x03), der(0x0c, Buffer.from(names[0]!)))));
  const day = 24 * 3_600_000;
  const validity = sequence(time(Date.now() - day), time(Date.now() + day));
  const publicKey = createPublicKey(key).export({ type: "spki", format: "der" });
  const alternatives = sequence(...names.map((one) => der(0x82, Buffer.from(one))));
  const subjectAltName = sequence(oid(0x55, 0x1d, 0x11), der(0x04, alternatives));
  return sequence(der(0xa0, der(0x02, Buffer.from([2]))), der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])), algorithm, name, validity, name, publicKey, der(0xa3, sequence(subjectAltName)));
}

function der(tag: number, content: Buffer): Buffer {
  const length = content.length < 128 ? [content.length] : content.length < 256 ? [0x81, content.length] : [0x82, content.length >> 8, content.length & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

const sequence = (...parts: Buffer[]) => der(0x30, Buffer.concat(parts));
const set = (...parts: Buffer[]) => der(0x31, Buffer.concat(parts));
const oid = (...octets: number[]) => der(0x06, Buffer.from(octets));
const bitString = (bits: Buffer) => der(0x03, Buffer.concat([Buffer.from([0]), bits]));
const time = (at: number) => der(0x18, Buffer.from(new Date(at).toISOString().replace(/[-:T]|\.\d+/g, "")));
