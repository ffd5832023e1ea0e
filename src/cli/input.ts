import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { messageOf } from "../kernel/index.ts";
import { formatSize } from "../kernel/text.ts";
import type { SentBody } from "./api/client.ts";
import type { CommandContext } from "./command.ts";
import { commandErrors } from "./errors.ts";

/** Reads all of standard input, up to `limit` bytes. */
export async function readStdin({ stdin }: Pick<CommandContext, "stdin">, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stdin as AsyncIterable<Buffer | string>) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > limit) throw commandErrors.inputTooLong({ what: "standard input", limit: formatSize(limit) });
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

export const readTextFile = async (cwd: string, name: string, limit: number): Promise<string> =>
  (await readSmallFile(cwd, name, limit)).toString();

export async function readSmallFile(cwd: string, name: string, limit: number): Promise<Buffer> {
  const file = resolve(cwd, name);
  try {
    if ((await stat(file)).size > limit) throw commandErrors.inputTooLong({ what: name, limit: formatSize(limit) });
    return await readFile(file);
  } catch (cause) {
    throw isSystemError(cause)
      ? commandErrors.fileUnreadable({ file: name, reason: reasonOf(cause) }, { cause })
      : cause;
  }
}

/** Reads a JSON file, or standard input for "-". */
export async function readJsonFile(
  name: string,
  { cwd, stdin }: Pick<CommandContext, "cwd" | "stdin">,
  limit: number,
): Promise<unknown> {
  const text = name === "-" ? (await readStdin({ stdin }, limit)).toString() : await readTextFile(cwd, name, limit);
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw commandErrors.badJson({ file: name === "-" ? "standard input" : name, reason: messageOf(cause) }, { cause });
  }
}

/** Resolves with a file as a request body that is read while it is sent. */
export async function fileBody(
  cwd: string,
  name: string,
  meter: (total: number) => (octets: number) => void,
): Promise<{ size: number; body: () => SentBody }> {
  const file = resolve(cwd, name);
  const fileStats = await stat(file).catch((cause: unknown) => {
    throw commandErrors.fileUnreadable({ file: name, reason: reasonOf(cause) }, { cause });
  });
  if (!fileStats.isFile()) throw commandErrors.fileUnreadable({ file: name, reason: "it is not a file" });
  const { size } = fileStats;
  return {
    size,
    body: () => ({ size, stream: counted(createReadStream(file, { highWaterMark: 1024 * 1024 }), meter(size)) }),
  };
}

export async function* counted(
  source: AsyncIterable<Uint8Array>,
  count: (octets: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) {
    count(chunk.length);
    yield chunk;
  }
}

const isSystemError = (thrown: unknown): thrown is NodeJS.ErrnoException =>
  typeof (thrown as NodeJS.ErrnoException).syscall === "string";
const reasonOf = (thrown: unknown) =>
  (thrown as NodeJS.ErrnoException).code === "ENOENT" ? "the file does not exist" : messageOf(thrown);
