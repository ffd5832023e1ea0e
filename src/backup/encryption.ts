import { readFile } from "node:fs/promises";
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { messageOf } from "../kernel/index.ts";
import { backupErrors } from "./errors.ts";

/** Encrypts files in the age format: https://age-encryption.org/v1. */
export interface Encryption {
  recipients: readonly string[];
  encrypt(plain: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
}

export interface Decryption {
  /**
   * Rejects with WrongIdentity if no identity can decrypt the file, and with another error if the bytes are damaged.
   */
  decrypt(stored: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
}

export class WrongIdentity extends Error {
  override readonly name = "WrongIdentity";
}

/** Loaded on first use: it takes 3 MB of memory. */
const loadAge = () => import("age-encryption");

/** Undefined without recipients. Rejects with BackupError badRecipient. */
export async function createEncryption(recipients: readonly string[]): Promise<Encryption | undefined> {
  if (recipients.length === 0) return undefined;
  const { Encrypter } = await loadAge();
  const encrypter = new Encrypter();
  for (const recipient of recipients) {
    try {
      encrypter.addRecipient(recipient);
    } catch (err) {
      throw backupErrors.badRecipient({ recipient, reason: messageOf(err) }, { cause: err });
    }
  }
  return {
    recipients: [...recipients].sort(),
    async *encrypt(plain) {
      yield* fromWeb(await encrypter.encrypt(toWeb(plain)));
    },
  };
}

/** Reads an age identity file. Throws BackupError badIdentity, notReadable. */
export async function readIdentities(file: string): Promise<Decryption> {
  const text = await readFile(file, "utf8").catch((err: unknown) => {
    throw backupErrors.notReadable({ path: file, reason: messageOf(err) }, { cause: err });
  });
  const identities = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
  const { Decrypter } = await loadAge();
  const decrypter = new Decrypter();
  if (identities.length === 0) throw backupErrors.badIdentity({ file, reason: "it is empty" });
  for (const identity of identities) {
    try {
      decrypter.addIdentity(identity);
    } catch (err) {
      // The error message of the library would contain the secret.
      throw backupErrors.badIdentity({ file, reason: "a line is not a secret key" }, { cause: err });
    }
  }
  return {
    async *decrypt(stored) {
      let plain: ReadableStream<Uint8Array>;
      try {
        plain = (await decrypter.decrypt(toWeb(stored))) as unknown as ReadableStream<Uint8Array>;
      } catch (err) {
        if (/no identity matched/.test(messageOf(err))) throw new WrongIdentity(messageOf(err), { cause: err });
        throw err;
      }
      yield* fromWeb(plain);
    },
  };
}

/** Resolves with a new identity and its recipient. */
export async function generateIdentity(): Promise<{ identity: string; recipient: string }> {
  const { generateX25519Identity, identityToRecipient } = await loadAge();
  const identity = await generateX25519Identity();
  return { identity, recipient: await identityToRecipient(identity) };
}

const toWeb = (bytes: AsyncIterable<Uint8Array>) =>
  Readable.toWeb(Readable.from(bytes, { objectMode: false })) as unknown as globalThis.ReadableStream<Uint8Array>;

async function* fromWeb(stream: unknown): AsyncGenerator<Uint8Array> {
  yield* stream as AsyncIterable<Uint8Array>;
}
