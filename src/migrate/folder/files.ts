import { randomUUID } from "node:crypto";
import { createReadStream, lstatSync, mkdirSync, readdirSync, renameSync, type Stats } from "node:fs";
import { open, readFile, rm, utimes } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { BESIDE_FOLDER } from "./file-names.ts";

/** The files contain personal data and the keys of live inputs. */
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
const UNFINISHED = ".unfinished";

/** Files below a folder, by their escaped relative paths. */
export interface Files {
  readonly root: string;
  /** Creates the folder and removes the files of an interrupted run. */
  prepare(): Promise<void>;
  /** Returns the absolute path and properties of a file, or undefined if there is none. */
  find(path: string): { path: string; stats: Stats } | undefined;
  /** Names of the entries of a folder; empty if it does not exist. */
  list(path: string): string[];
  readJson(path: string): Promise<unknown>;
  /** Replaces the file atomically. */
  write(
    path: string,
    body: Iterable<Uint8Array | string> | AsyncIterable<Uint8Array | string>,
    modified?: Date,
  ): Promise<void>;
  writeJson(path: string, value: unknown): Promise<void>;
  remove(path: string): Promise<void>;
  /** Removes the folder of unfinished files. */
  finish(): Promise<void>;
}

export function createFiles(root: string): Files {
  const unfinished = join(root, UNFINISHED);
  const statsOf = (path: string) => lstatSync(path, { throwIfNoEntry: false });
  const clear = () => rm(unfinished, { recursive: true, force: true });

  /** A key may be both the name of an object and a prefix of other keys: the file is then renamed. */
  function makeFolder(path: string): void {
    const found = statsOf(path);
    if (found?.isDirectory() === true) return;
    if (found !== undefined) renameSync(path, path + BESIDE_FOLDER);
    mkdirSync(path, { mode: FOLDER_MODE });
  }

  /** Creates the folders of a file. Synchronous, so that concurrent writes cannot interfere. */
  function placeOf(path: string): string {
    const parts = path.split("/");
    let folder = root;
    for (const part of parts.slice(0, -1)) makeFolder((folder = join(folder, part)));
    const file = join(folder, parts.at(-1)!);
    return statsOf(file)?.isDirectory() === true ? file + BESIDE_FOLDER : file;
  }

  const files: Files = {
    root,
    async prepare() {
      mkdirSync(root, { recursive: true, mode: FOLDER_MODE });
      await clear();
      mkdirSync(unfinished, { mode: FOLDER_MODE });
    },
    find(path) {
      for (const candidate of [join(root, path), join(root, path) + BESIDE_FOLDER]) {
        const stats = statsOf(candidate);
        if (stats?.isFile() === true) return { path: candidate, stats };
      }
      return undefined;
    },
    list: (path) => (statsOf(join(root, path))?.isDirectory() === true ? readdirSync(join(root, path)) : []),
    readJson: async (path) => JSON.parse(await readFile(join(root, path), "utf8")) as unknown,
    async write(path, body, modified) {
      const temporary = join(unfinished, randomUUID());
      // The file must exist before the body is read: a stream may create it after its body has failed.
      const file = await open(temporary, "wx", FILE_MODE);
      try {
        await pipeline(body, file.createWriteStream({ flush: true }));
        if (modified !== undefined) await utimes(temporary, modified, modified);
        renameSync(temporary, placeOf(path));
      } catch (thrown) {
        await rm(temporary, { force: true });
        throw thrown;
      }
    },
    writeJson: (path, value) => files.write(path, [`${JSON.stringify(value, undefined, 2)}\n`]),
    remove: (path) => rm(join(root, path), { force: true }),
    finish: clear,
  };
  return files;
}

const LINE_FEED = 10;

/** Yields the lines of a file from a byte offset, with the offset of each. */
export async function* linesWithOffsets(path: string, from = 0): AsyncGenerator<{ line: Buffer; start: number }> {
  let pieces: Buffer[] = [];
  let start = from;
  for await (const chunk of createReadStream(path, { start: from }) as AsyncIterable<Buffer>) {
    let position = 0;
    for (;;) {
      const end = chunk.indexOf(LINE_FEED, position);
      pieces.push(chunk.subarray(position, end === -1 ? undefined : end));
      if (end === -1) break;
      const line = Buffer.concat(pieces);
      yield { line, start };
      start += line.length + 1;
      pieces = [];
      position = end + 1;
    }
  }
  const line = Buffer.concat(pieces);
  if (line.length > 0) yield { line, start };
}

/** Resolves with the number of lines that end with a line feed. */
export async function countLines(path: string): Promise<number> {
  let count = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>)
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, end + 1)) count++;
  return count;
}
