import { constants } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import type { Clock } from "../../kernel/index.ts";

export interface GrowingFile {
  path: string;
  /** Awaited; what it throws ends the following. */
  take(chunk: Buffer): Promise<void>;
}

const READ_BYTES = 1 << 20;
const LOOK_EVERY_MS = 200;

/** Reads files while another program writes them, until it is `done`, and then what is left. Rejects with what `take` throws. */
export async function followFiles(
  files: readonly GrowingFile[],
  { clock, done }: { clock: Pick<Clock, "sleep">; done: Promise<unknown> },
): Promise<void> {
  const state = { ended: false };
  const ended = done
    .then(
      () => {},
      () => {},
    )
    .finally(() => (state.ended = true));
  await Promise.all(files.map((file) => follow(file, state, () => Promise.race([clock.sleep(LOOK_EVERY_MS), ended]))));
}

async function follow(
  { path, take }: GrowingFile,
  state: { readonly ended: boolean },
  pause: () => Promise<void>,
): Promise<void> {
  let handle: FileHandle | undefined;
  let position = 0;
  const buffer = Buffer.alloc(READ_BYTES);
  async function readOn(from: FileHandle, start: number): Promise<number> {
    let at = start;
    for (;;) {
      const { bytesRead } = await from.read(buffer, 0, READ_BYTES, at);
      if (bytesRead === 0) return at;
      await take(Buffer.from(buffer.subarray(0, bytesRead)));
      at += bytesRead;
    }
  }
  try {
    for (;;) {
      // Asked before reading: what was written until then is seen by this round.
      const last = state.ended;
      // No symlink: the encoder could point it at a file that it may not read itself.
      handle ??= await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch(absent);
      if (handle !== undefined) position = await readOn(handle, position);
      if (last) return;
      await pause();
    }
  } finally {
    await handle?.close();
  }
}

function absent(err: unknown): undefined {
  if ((err as NodeJS.ErrnoException).code !== "ENOENT") throw err;
  return undefined;
}
