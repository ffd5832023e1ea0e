/** Builds a message from octets, compressing names (RFC 1035 4.1.4). */
export interface WireWriter {
  /** Returns the number of octets written so far. */
  writtenOctets(): number;
  u8(value: number): void;
  u16(value: number): void;
  u32(value: number): void;
  bytes(octets: Uint8Array): void;
  /**
   * Writes a name as returned by readName; "" and "." are the root. Use `compress` only for types that every reader
   * knows (RFC 3597 4).
   */
  name(name: string, compress: boolean): void;
  /** Records that `name` is written at `offset`, so that later names can point to it. */
  registerName(name: string, offset: number): void;
  /** Writes the output of `write`, preceded by its length as two octets. */
  lengthPrefixed(write: () => void): void;
  setU16(offset: number, value: number): void;
  /** Discards everything from offset `length` on. */
  truncate(length: number): void;
  finish(): Buffer;
}

/** RFC 1035 4.1.4: a pointer has 14 bits. */
const MAX_POINTER = 0x3fff;
/** Maximum message length: the TCP length field has two octets. */
export const MAX_MESSAGE_OCTETS = 65_535;

export class MessageTooLarge extends Error {
  override readonly name = "MessageTooLarge";
}

/** The methods throw MessageTooLarge if the message would exceed MAX_MESSAGE_OCTETS. */
export function createWireWriter(): WireWriter {
  let buffer = Buffer.allocUnsafe(1024);
  let length = 0;
  const names = new Map<string, number>();

  function reserve(octets: number): number {
    const at = length;
    length += octets;
    if (length > MAX_MESSAGE_OCTETS)
      throw new MessageTooLarge(`a DNS message holds at most ${MAX_MESSAGE_OCTETS} octets`);
    if (length > buffer.length)
      buffer = Buffer.concat(
        [buffer.subarray(0, at)],
        Math.min(MAX_MESSAGE_OCTETS, Math.max(2 * buffer.length, length)),
      );
    return at;
  }

  const writer: WireWriter = {
    writtenOctets: () => length,
    u8(value) {
      const at = reserve(1);
      buffer.writeUInt8(value, at);
    },
    u16(value) {
      const at = reserve(2);
      buffer.writeUInt16BE(value, at);
    },
    u32(value) {
      const at = reserve(4);
      buffer.writeUInt32BE(value, at);
    },
    bytes(octets) {
      const at = reserve(octets.length);
      buffer.set(octets, at);
    },
    name(name, compress) {
      let rest = name === "." ? "" : name;
      while (rest !== "") {
        const knownOffset = names.get(rest);
        if (compress && knownOffset !== undefined) return writer.u16(0xc000 | knownOffset);
        if (length <= MAX_POINTER && knownOffset === undefined) names.set(rest, length);
        const dot = rest.indexOf(".");
        const label = dot === -1 ? rest : rest.slice(0, dot);
        const octets = label.includes("\\") ? unescapeLabel(label) : label;
        const at = reserve(1 + octets.length);
        buffer[at] = octets.length;
        buffer.write(octets, at + 1, "latin1");
        rest = dot === -1 ? "" : rest.slice(dot + 1);
      }
      const end = reserve(1);
      buffer[end] = 0;
    },
    registerName(name, offset) {
      let at = offset;
      for (let rest = name; rest !== "" && at <= MAX_POINTER;) {
        names.set(rest, at);
        // The labels may be spelled differently there, but their lengths match the length octets.
        at += 1 + buffer[at]!;
        const dot = rest.indexOf(".");
        rest = dot === -1 ? "" : rest.slice(dot + 1);
      }
    },
    lengthPrefixed(write) {
      const at = reserve(2);
      write();
      buffer.writeUInt16BE(length - at - 2, at);
    },
    setU16: (offset, value) => void buffer.writeUInt16BE(value, offset),
    truncate(to) {
      length = to;
      for (const [name, offset] of names) if (offset >= to) names.delete(name);
    },
    finish: () => buffer.subarray(0, length),
  };
  return writer;
}

/** Replaces \DDD in a label with the octets (RFC 1035 5.1). */
const unescapeLabel = (label: string) =>
  label.replace(/\\(\d{3})/g, (_, code: string) => String.fromCharCode(Number(code) & 0xff));
