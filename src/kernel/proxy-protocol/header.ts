import { isIP, isIPv4, isIPv6 } from "node:net";

/**
 * The header that a load balancer adds to a connection to pass on the client address: version 1 (a line of text) and
 * version 2 (binary); HAProxy's proxy-protocol.txt, sections 2.1 and 2.2.
 */
type ProxyHeader =
  /** More octets are needed. */
  | { state: "short" }
  | { state: "bad"; why: string }
  /**
   * The header is `length` octets long. Without a client, the connection is the proxy's own (LOCAL, a health check) or
   * of an unknown kind (UNKNOWN).
   */
  | { state: "whole"; length: number; client?: { ip: string; port: number } };

/** 2.1: "a 108-byte buffer is always enough". */
const V1_MAX_BYTES = 107;
/** 2.2. */
const V2_SIGNATURE = Buffer.from("\r\n\r\n\0\r\nQUIT\n", "latin1");
const V2_FIXED_BYTES = 16;
/** Addresses need at most 216 octets; the rest is for TLVs. The length field allows 65535. */
const V2_MAX_BYTES = V2_FIXED_BYTES + 4096;

/** Parses the header at the beginning of `bytes`. */
export function readProxyHeader(bytes: Uint8Array): ProxyHeader {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, V2_MAX_BYTES));
  if (isPrefix(start, V2_SIGNATURE)) return start.length < V2_FIXED_BYTES ? { state: "short" } : readV2(start);
  if (isPrefix(start, Buffer.from("PROXY "))) return readV1(start);
  return rejectHeader("it starts with neither PROXY nor the version 2 signature");
}

/** True if one of the buffers is a prefix of the other. */
function isPrefix(bytes: Buffer, expected: Buffer): boolean {
  const length = Math.min(bytes.length, expected.length);
  return bytes.subarray(0, length).equals(expected.subarray(0, length));
}

function readV1(bytes: Buffer): ProxyHeader {
  const end = bytes.subarray(0, V1_MAX_BYTES).indexOf("\r\n");
  if (end === -1)
    return bytes.length < V1_MAX_BYTES
      ? { state: "short" }
      : rejectHeader(`its line has more than ${V1_MAX_BYTES} bytes`);
  const length = end + 2;
  const line = bytes.toString("latin1", 0, end);
  // Anything after UNKNOWN is ignored.
  if (/^PROXY UNKNOWN(?: |$)/.test(line)) return { state: "whole", length };
  const [, family, source = "", target = "", sourcePort, targetPort] =
    /^PROXY TCP([46]) (\S+) (\S+) (\d{1,5}) (\d{1,5})$/.exec(line) ?? [];
  if (family === undefined) return rejectHeader("its line is not a valid version 1 header");
  const isValidIp = family === "4" ? isIPv4 : isIPv6;
  if (!isValidIp(source) || !isValidIp(target) || source.includes("%"))
    return rejectHeader(`its addresses are not valid for TCP${family}`);
  if (Number(sourcePort) > 65_535 || Number(targetPort) > 65_535) return rejectHeader("its ports are invalid");
  return { state: "whole", length, client: { ip: source.toLowerCase(), port: Number(sourcePort) } };
}

function readV2(bytes: Buffer): ProxyHeader {
  const [version, command] = [bytes[12]! >> 4, bytes[12]! & 15];
  if (version !== 2) return rejectHeader(`unsupported version ${version}`);
  if (command > 1) return rejectHeader(`unsupported command ${command}`);
  const length = V2_FIXED_BYTES + bytes.readUInt16BE(14);
  if (length > V2_MAX_BYTES) return rejectHeader(`it has ${length} bytes`);
  if (bytes.length < length) return { state: "short" };
  const [family, transport] = [bytes[13]! >> 4, bytes[13]! & 15];
  // LOCAL, UNSPEC, and non-IP families: only the address of the connection is known.
  if (command === 0 || transport === 0 || (family !== 1 && family !== 2)) return { state: "whole", length };
  if (transport !== 1) return rejectHeader("it is for datagrams");
  const octets = family === 1 ? 4 : 16;
  if (length < V2_FIXED_BYTES + octets * 2 + 4) return rejectHeader("its addresses are truncated");
  const source = bytes.subarray(V2_FIXED_BYTES, V2_FIXED_BYTES + octets);
  return {
    state: "whole",
    length,
    client: {
      ip: family === 1 ? source.join(".") : textOf(source),
      port: bytes.readUInt16BE(V2_FIXED_BYTES + octets * 2),
    },
  };
}

/** Returns the shortest form of an IPv6 address (RFC 5952), which Node also uses for peers. */
function textOf(octets: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, i) => octets.readUInt16BE(i * 2).toString(16)).join(":");
  const ip = new URL(`http://[${groups}]/`).hostname.slice(1, -1);
  const mappedGroups = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(ip);
  return mappedGroups && isIP(ip) === 6 ? octets.subarray(12).join(".") : ip;
}

const rejectHeader = (why: string): ProxyHeader => ({ state: "bad", why });
