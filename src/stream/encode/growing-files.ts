import { constants } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import type { Clock } from "../../kernel/index.ts";

interface GrowingFile {
  path: string;
  /** Is awaited; an error it throws ends the reading. */
  onData(chunk: Buffer): Promise<void>;
}

const READ_BYTES = 1 << 20;
const LOOK_EVERY_MS = 200;

/**
 * Reads files while another program writes them, until it is `done`, then reads the rest. Rejects with the error of
 * `onData`.
 */
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
  { path, onData }: GrowingFile,
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
      await onData(Buffer.from(buffer.subarray(0, bytesRead)));
      at += bytesRead;
    }
  }
  try {
    for (;;) {
      // Checked before reading, so that this round sees everything written before the end.
      const last = state.ended;
      // Symlinks are refused: the encoder could point one at a file that it may not read.
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
