import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { messageOf } from "../kernel/index.ts";
import { connectionErrors } from "./api/errors.ts";
import type { CommandContext } from "./command.ts";
import { commandErrors } from "./errors.ts";
import { counted } from "./input.ts";

/** Writes a response body to a file, complete or not at all, or to standard output. Resolves with its size in bytes. */
export async function saveBody(
  response: Response,
  file: string | undefined,
  { cwd, stdout }: Pick<CommandContext, "cwd" | "stdout">,
  count: (octets: number) => void,
): Promise<number> {
  let size = 0;
  const body = counted(bodyOf(response), (octets) => {
    size += octets;
    count(octets);
  });
  if (file === undefined) await pipeline(body, keepOpen(stdout.stream));
  else await writeAtomically(resolve(cwd, file), file, body);
  return size;
}

async function* bodyOf(response: Response): AsyncGenerator<Uint8Array> {
  try {
    yield* response.body ?? [];
  } catch (cause) {
    throw connectionErrors.broken({ what: new URL(response.url).pathname, reason: messageOf(cause) }, { cause });
  }
}

async function writeAtomically(path: string, displayPath: string, body: AsyncIterable<Uint8Array>): Promise<void> {
  const temporary = `${path}.${randomUUID().slice(0, 8)}.part`;
  try {
    await pipeline(body, createWriteStream(temporary, { flags: "wx" }));
    await rename(temporary, path);
  } catch (cause) {
    await rm(temporary, { force: true });
    if (typeof (cause as NodeJS.ErrnoException).syscall !== "string") throw cause;
    throw commandErrors.fileUnwritable({ file: displayPath, reason: messageOf(cause) }, { cause });
  }
}

/** Keeps standard output open after the body has been written. */
const keepOpen = (stream: NodeJS.WritableStream) =>
  new Writable({ write: (chunk: Uint8Array, _, done) => void stream.write(chunk, done) });
