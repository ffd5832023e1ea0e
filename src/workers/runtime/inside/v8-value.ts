// Reads values in V8's serialization format (ValueSerializer, versions 13 to 15), the content type `v8` of queue
// messages. workerd writes this format but does not expose a reader.
// https://chromium.googlesource.com/v8/v8/+/main/src/objects/value-serializer.cc

const VERSION = 0xff;
const utf8 = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });
const utf16 = new TextDecoder("utf-16le", { fatal: false, ignoreBOM: true });

const VIEWS: Record<string, new (buffer: ArrayBuffer, offset: number, length: number) => ArrayBufferView> = {
  b: Int8Array,
  B: Uint8Array,
  C: Uint8ClampedArray,
  w: Int16Array,
  W: Uint16Array,
  d: Int32Array,
  D: Uint32Array,
  f: Float32Array,
  F: Float64Array,
  q: BigInt64Array,
  Q: BigUint64Array,
  "?": DataView,
};

const ERRORS: Record<string, ErrorConstructor> = {
  E: EvalError,
  R: RangeError,
  F: ReferenceError,
  S: SyntaxError,
  T: TypeError,
  U: URIError,
};

/** Flags of a regular expression in bit order. */
const REGEXP_FLAGS = "gimyusdv";
/** Marks an absent element of an array. */
const HOLE = Symbol("hole");

/** Throws an Error for bytes that are not in this format, and for host objects such as Request. */
export function readV8Value(bytes: Uint8Array): unknown {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  /** Objects in order of first occurrence. Later occurrences refer to them by index. */
  const objects: unknown[] = [];
  let at = 0;
  let version = 0;
  if (readByte() !== VERSION || (version = readVarint()) < 13 || version > 15)
    throw formatError("it has an unknown version");
  return value();

  function formatError(reason: string): Error {
    return new Error(`The message body cannot be deserialized as a v8 value: ${reason}`);
  }

  function readByte(): number {
    if (at >= bytes.length) throw formatError("it is truncated");
    return bytes[at++]!;
  }

  /** LEB128, at most 32 bits. */
  function readVarint(): number {
    let result = 0;
    for (let shift = 0; ; shift += 7) {
      const next = readByte();
      if (shift < 32) result += (next & 0x7f) * 2 ** shift;
      if (next < 0x80) return result;
    }
  }

  function readBytes(length: number): Uint8Array {
    if (length > bytes.length - at) throw formatError("it is truncated");
    at += length;
    return bytes.subarray(at - length, at);
  }

  function readDouble(): number {
    readBytes(8);
    return view.getFloat64(at - 8, true);
  }

  function readTag(): string {
    let next = readByte();
    while (next === 0) next = readByte();
    return String.fromCharCode(next);
  }

  function peekTag(): string {
    return at < bytes.length ? String.fromCharCode(bytes[at]!) : "";
  }

  function registerObject<Value>(object: Value): Value {
    objects.push(object);
    return object;
  }

  function value(): unknown {
    const result = readTagged(readTag());
    if (!(result instanceof ArrayBuffer) || peekTag() !== "V") return result;
    at++;
    return registerObject(readView(result));
  }

  function readTagged(kind: string): unknown {
    switch (kind) {
      case "_":
        return undefined;
      case "0":
        return null;
      case "T":
        return true;
      case "F":
        return false;
      case "-":
        return HOLE;
      case "I": {
        const number = readVarint();
        return number % 2 === 0 ? number / 2 : -(number + 1) / 2;
      }
      case "U":
        return readVarint();
      case "N":
        return readDouble();
      case "Z":
        return readBigInt();
      case '"':
      case "c":
      case "S":
        return text(kind);
      case "^": {
        const id = readVarint();
        if (id >= objects.length) throw formatError("it refers to an unknown object");
        return objects[id];
      }
      case "o":
        return readProperties(registerObject({}), "{");
      case "A":
        return readDenseArray();
      case "a": {
        const array = registerObject([] as unknown[]);
        array.length = readVarint();
        readProperties(array, "@");
        readVarint();
        return array;
      }
      case "D":
        return registerObject(new Date(readDouble()));
      case "y":
        return registerObject(new Boolean(true));
      case "x":
        return registerObject(new Boolean(false));
      case "n":
        return registerObject(new Number(readDouble()));
      case "z":
        return registerObject(Object(readBigInt()));
      case "s":
        return registerObject(new String(text(readTag())));
      case "R": {
        const source = text(readTag());
        const bits = readVarint();
        return registerObject(
          new RegExp(source, [...REGEXP_FLAGS].filter((_, bit) => (bits >> flagBit(bit)) & 1).join("")),
        );
      }
      case ";":
        return map();
      case "'":
        return set();
      case "B":
        return registerObject(new Uint8Array(readBytes(readVarint())).buffer);
      case "~": {
        const [length, maxByteLength] = [readVarint(), readVarint()];
        if (maxByteLength < length || maxByteLength > MAX_RESIZABLE_BYTES)
          throw formatError("it has an invalid buffer");
        const buffer = new ArrayBuffer(length, { maxByteLength } as never);
        new Uint8Array(buffer).set(readBytes(length));
        return registerObject(buffer);
      }
      case "r":
        return error();
      case "\\":
        throw formatError("it contains a host object; send plain objects");
      default:
        throw formatError(`it contains the unknown type ${JSON.stringify(kind)}`);
    }
  }

  function readBigInt(): bigint {
    const bits = readVarint();
    let result = 0n;
    for (const digit of readBytes(bits >> 1).toReversed()) result = (result << 8n) | BigInt(digit);
    return bits & 1 ? -result : result;
  }

  function text(kind: string): string {
    const part = readBytes(readVarint());
    if (kind === "S") return utf8.decode(part);
    if (kind === "c") return decodeTwoByte(part);
    if (kind !== '"') throw formatError("a string is expected");
    // TextDecoder is not used here, because its "latin1" is windows-1252.
    let result = "";
    for (let from = 0; from < part.length; from += 8192)
      result += String.fromCharCode(...part.subarray(from, from + 8192));
    return result;
  }

  /** Keeps lone surrogates, which a TextDecoder would replace. */
  function decodeTwoByte(part: Uint8Array): string {
    const decoded = utf16.decode(part);
    if (!decoded.includes("\ufffd")) return decoded;
    let result = "";
    for (let from = 0; from + 1 < part.length; from += 2)
      result += String.fromCharCode(part[from]! | (part[from + 1]! << 8));
    return result;
  }

  function readProperties<Target extends object>(target: Target, end: string): Target {
    for (;;) {
      const kind = readTag();
      if (kind === end) {
        readVarint();
        return target;
      }
      const key = readTagged(kind);
      if (typeof key !== "string" && typeof key !== "number") throw formatError("a property has an invalid name");
      // Defined rather than assigned: `__proto__` is an ordinary name here.
      Object.defineProperty(target, key, { value: value(), writable: true, enumerable: true, configurable: true });
    }
  }

  function readDenseArray(): unknown[] {
    const length = readVarint();
    if (length > bytes.length - at) throw formatError("it is truncated");
    const array = registerObject([] as unknown[]);
    array.length = length;
    for (let i = 0; i < length; i++) {
      const element = value();
      if (element !== HOLE) array[i] = element;
    }
    readProperties(array, "$");
    readVarint();
    return array;
  }

  function map(): Map<unknown, unknown> {
    const result = registerObject(new Map<unknown, unknown>());
    while (peekTag() !== ":") result.set(value(), value());
    at++;
    readVarint();
    return result;
  }

  function set(): Set<unknown> {
    const result = registerObject(new Set<unknown>());
    while (peekTag() !== ",") result.add(value());
    at++;
    readVarint();
    return result;
  }

  function readView(buffer: ArrayBuffer): ArrayBufferView {
    const View = VIEWS[String.fromCharCode(readByte())];
    const [offset, length] = [readVarint(), readVarint()];
    if (version >= 14) readVarint();
    if (View === undefined || offset + length > buffer.byteLength) throw formatError("it has an invalid view");
    const { BYTES_PER_ELEMENT: size = 1 } = View as { BYTES_PER_ELEMENT?: number };
    return new View(buffer, offset, length / size);
  }

  function error(): Error {
    const id = objects.push(undefined) - 1;
    let Kind: ErrorConstructor = Error;
    let [message, stack]: [string?, string?] = [];
    let cause: { cause: unknown } | undefined;
    for (;;) {
      const part = String.fromCharCode(readVarint());
      if (part === ".") break;
      if (part === "m") message = text(readTag());
      else if (part === "s") stack = text(readTag());
      else if (part === "c") cause = { cause: value() };
      else Kind = ERRORS[part] ?? Error;
    }
    const result = new Kind(message, cause);
    Object.defineProperty(result, "stack", { value: stack, writable: true, configurable: true });
    objects[id] = result;
    return result;
  }
}

const MAX_RESIZABLE_BYTES = 16 * 1024 * 1024;

/** V8's bits are g i m y u s, then the internal `l`, then d and v. */
const flagBit = (index: number) => (index < 6 ? index : index + 1);
