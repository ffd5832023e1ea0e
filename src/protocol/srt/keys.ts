import { createCipheriv, createDecipheriv, pbkdf2, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import type { SrtKeyName } from "./packets.ts";

/**
 * Payload encryption with AES in counter mode. The keys arrive wrapped with a key derived from the passphrase
 * (draft-sharabayko-srt-01, section 6, and 3.2.2 for the key message).
 */
export interface SrtKeys {
  /** Key length in octets: 16, 24 or 32. */
  size: number;
  /** The key announced first, also used for outgoing packets. */
  name: "even" | "odd";
  /** Encrypts or decrypts in place. Undefined if the key does not exist. */
  crypt(key: SrtKeyName, sequence: number, payload: Buffer): Buffer | undefined;
  /**
   * Accepts new keys from a later message, wrapped like the first ones. Returns false if it is not a key message, or
   * has a different passphrase.
   */
  refresh(message: Buffer): boolean;
}

interface KeyMessage {
  names: ("even" | "odd")[];
  salt: Buffer;
  size: number;
  wrapped: Buffer;
}

const derive = promisify(pbkdf2);
const ITERATIONS = 2048;
/** Version 1, packet type 2 (keys), and the vendor signature HAI. */
const KEY_MESSAGE_PREFIX = Buffer.from([0x12, 0x20, 0x29]);
const AES_CTR = 2;
const FOR_SRT = 2;
const WRAP_CHECK = Buffer.alloc(8, 0xa6);
const KEY_SIZES = [16, 24, 32];
const KEY_NAMES: readonly (readonly ("even" | "odd")[])[] = [[], ["even"], ["odd"], ["even", "odd"]];

function readKeyMessage(message: Buffer): KeyMessage | undefined {
  if (message.length < 32 || !timingSafeEqual(message.subarray(0, 3), KEY_MESSAGE_PREFIX)) return undefined;
  const names = [...KEY_NAMES[message[3]! & 3]!];
  const [saltSize, size] = [message[14]! * 4, message[15]! * 4];
  if (
    names.length === 0 ||
    message[8] !== AES_CTR ||
    message[9] !== 0 ||
    message[10] !== FOR_SRT ||
    saltSize !== 16 ||
    !KEY_SIZES.includes(size)
  )
    return undefined;
  if (message.length !== 32 + 8 + names.length * size) return undefined;
  return { names, salt: Buffer.from(message.subarray(16, 32)), size, wrapped: message.subarray(32) };
}

/** Unwraps keys (RFC 3394). Undefined if the passphrase is wrong. */
function unwrap({ size, wrapped }: KeyMessage, kek: Buffer): Buffer | undefined {
  const decipher = createDecipheriv(`id-aes${size * 8}-wrap`, kek, WRAP_CHECK);
  try {
    return Buffer.concat([decipher.update(wrapped), decipher.final()]);
  } catch {
    return undefined;
  }
}

/** Opens the key message of a handshake. "malformed": unsupported or invalid; "passphrase": wrong passphrase. */
export async function openKeys(message: Buffer, passphrase: string): Promise<SrtKeys | "malformed" | "passphrase"> {
  const first = readKeyMessage(message);
  if (first === undefined) return "malformed";
  const { salt, size } = first;
  const keys = new Map<SrtKeyName, Buffer>();
  // Only the last eight octets of the salt are used for the derivation.
  const kek = await derive(passphrase, salt.subarray(8), ITERATIONS, size, "sha1");

  function acceptMessage(keyMessage: KeyMessage): boolean {
    const unwrappedKeys = unwrap(keyMessage, kek);
    if (unwrappedKeys === undefined) return false;
    for (const [i, name] of keyMessage.names.entries())
      keys.set(name, unwrappedKeys.subarray(i * size, (i + 1) * size));
    return true;
  }

  if (!acceptMessage(first)) return "passphrase";
  const iv = Buffer.alloc(16);
  return {
    size,
    name: first.names[0]!,
    crypt(name, sequence, payload) {
      const key = keys.get(name);
      if (key === undefined) return undefined;
      salt.copy(iv, 0, 0, 14);
      iv.writeUInt32BE((iv.readUInt32BE(10) ^ sequence) >>> 0, 10);
      iv.writeUInt16BE(0, 14);
      return createCipheriv(`aes-${size * 8}-ctr`, key, iv).update(payload);
    },
    refresh(message) {
      const next = readKeyMessage(message);
      return next !== undefined && next.size === size && next.salt.equals(salt) && acceptMessage(next);
    },
  };
}
