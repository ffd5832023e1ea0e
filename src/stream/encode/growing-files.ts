import { constants } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import type { Clock } from "../../kernel/index.ts";

interface GrowingFile {
  path: string;
  /** Is awaited; an error it throws ends the reading. */
  onData(chunk: Buffer): Promise<void>;
}

const READ_BYTES = 1 << 20;
const POLL_INTERVAL_MS = 200;

/**
 * Reads files while another program writes them; when `done` settles, reads the rest. Rejects with the error of
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
  await Promise.all(
    files.map((file) => follow(file, state, () => Promise.race([clock.sleep(POLL_INTERVAL_MS), ended]))),
  );
}

async function follow(
  { path, onData }: GrowingFile,
  state: { readonly ended: boolean },
  waitForChange: () => Promise<void>,
): Promise<void> {
  let handle: FileHandle | undefined;
  let position = 0;
  const buffer = Buffer.alloc(READ_BYTES);
  async function readOn(from: FileHandle, start: number): Promise<number> {
    let offset = start;
    for (;;) {
      const { bytesRead } = await from.read(buffer, 0, READ_BYTES, offset);
      if (bytesRead === 0) return offset;
      await onData(Buffer.from(buffer.subarray(0, bytesRead)));
      offset += bytesRead;
    }
  }
  try {
    for (;;) {
      // Checked before reading, so that this round sees everything written before the end.
      const isLastRead = state.ended;
      // Symlinks are refused: the encoder could point one at a file that it may not read.
      handle ??= await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch(ignoreMissing);
      if (handle !== undefined) position = await readOn(handle, position);
      if (isLastRead) return;
      await waitForChange();
    }
  } finally {
    await handle?.close();
  }
}

function ignoreMissing(err: unknown): undefined {
  if ((err as NodeJS.ErrnoException).code !== "ENOENT") throw err;
  return undefined;
}
