import { createPublicKey, generateKeyPairSync, randomBytes, sign, type KeyObject } from "node:crypto";

export interface Pair {
  /** PEM, like `cert`, which contains the certificate followed by those of its issuers, excluding the root. */
  key: string;
  cert: string;
}

interface Authority extends Pair {
  name: string;
  privateKey: KeyObject;
  der: Buffer;
  /** The PEM certificates to send along with a certificate that this authority issues. */
  chain: string;
}

const DAY = 24 * 3_600_000;

/** Returns a self-signed certificate for `names`, valid from a day ago until a day from now. */
export function selfSigned(...names: string[]): Pair {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return pairOf(
    signed({ names, key: privateKey, issuer: names[0]!, issuerKey: privateKey, ca: false, until: Date.now() + DAY }),
    privateKey,
  );
}

/**
 * Creates a certificate authority: a root, or one issued by `by`. `sent`: true if it is included in the chains of the
 * certificates it issues.
 */
export function authority(
  name: string,
  { by, sent = true, ca = true }: { by?: Authority; sent?: boolean; ca?: boolean } = {},
): Authority {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const der = signed({
    names: [name],
    key: privateKey,
    issuer: by?.name ?? name,
    issuerKey: by?.privateKey ?? privateKey,
    ca,
    until: Date.now() + DAY,
  });
  const pair = pairOf(der, privateKey);
  return { ...pair, name, privateKey, der, chain: (sent ? pair.cert : "") + (by?.chain ?? "") };
}

export function issuedBy(by: Authority, names: string[], { until = Date.now() + DAY } = {}): Pair & { der: Buffer } {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const der = signed({ names, key: privateKey, issuer: by.name, issuerKey: by.privateKey, ca: false, until });
  const { key, cert } = pairOf(der, privateKey);
  return { key, cert: cert + by.chain, der };
}

const pairOf = (der: Buffer, key: KeyObject): Pair => ({
  key: key.export({ type: "pkcs8", format: "pem" }) as string,
  cert: `-----BEGIN CERTIFICATE-----\n${der
    .toString("base64")
    .replace(/(.{64})/g, "$1\n")
    .trim()}\n-----END CERTIFICATE-----\n`,
});

interface Wanted {
  names: string[];
  key: KeyObject;
  issuer: string;
  issuerKey: KeyObject;
  ca: boolean;
  until: number;
}

/** Signs a certificate with only the fields that clients check (RFC 5280 4.1). */
function signed({ names, key, issuer, issuerKey, ca, until }: Wanted): Buffer {
  const algorithm = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
  const validity = sequence(time(Math.min(Date.now(), until) - DAY), time(until));
  const publicKey = createPublicKey(key).export({ type: "spki", format: "der" });
  const alternatives = sequence(...names.map((one) => der(0x82, Buffer.from(one))));
  const subjectAltName = sequence(oid(0x55, 0x1d, 0x11), der(0x04, alternatives));
  const basicConstraints = sequence(
    oid(0x55, 0x1d, 0x13),
    der(0x01, Buffer.from([0xff])),
    der(0x04, sequence(...(ca ? [der(0x01, Buffer.from([0xff]))] : []))),
  );
  const serial = der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)]));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    serial,
    algorithm,
    nameOf(issuer),
    validity,
    nameOf(names[0]!),
    publicKey,
    der(0xa3, sequence(subjectAltName, basicConstraints)),
  );
  return sequence(body, algorithm, bitString(sign("sha256", body, issuerKey)));
}

const nameOf = (text: string) => sequence(set(sequence(oid(0x55, 0x04, 0x03), der(0x0c, Buffer.from(text)))));

function der(tag: number, content: Buffer): Buffer {
  const length =
    content.length < 128
      ? [content.length]
      : content.length < 256
        ? [0x81, content.length]
        : [0x82, content.length >> 8, content.length & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

const sequence = (...parts: Buffer[]) => der(0x30, Buffer.concat(parts));
const set = (...parts: Buffer[]) => der(0x31, Buffer.concat(parts));
const oid = (...octets: number[]) => der(0x06, Buffer.from(octets));
const bitString = (bits: Buffer) => der(0x03, Buffer.concat([Buffer.from([0]), bits]));
const time = (at: number) => der(0x18, Buffer.from(new Date(at).toISOString().replace(/[-:T]|\.\d+/g, "")));
