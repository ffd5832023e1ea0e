import { closeSync, openSync, read } from "node:fs";
import { Readable } from "node:stream";
import { promisify } from "node:util";
import { Fault } from "../../../kernel/index.ts";
import { storeErrors } from "../../errors.ts";
import type { Fetcher } from "./fetch.ts";
import { CacheUnavailable, type CachedFile, type CacheFiles } from "./files.ts";
import { codeOf } from "../fs/errors.ts";
import type { AdaptiveRead } from "../fs/warm.ts";
import type { ObjectHandle, ObjectReader, ObjectStore } from "../port.ts";

interface CachedHandle extends ObjectHandle {
  reader(): ObjectReader;
  /** Resolves with a cache file that contains the whole object. Rejects with CacheUnavailable. */
  wholeFile(): Promise<CachedFile>;
}

interface CachedHandlesDeps {
  remote: Pick<ObjectStore, "open">;
  files: CacheFiles;
  fetcher: Fetcher;
  /** Objects up to this size are fetched whole, larger ones in blocks. */
  maxWholeBytes: number;
  blockBytes: number;
  idOf(key: string): string;
  count(result: "hit" | "miss" | "bypass"): void;
  warn(err: unknown): void;
  warmRead: AdaptiveRead;
}

/** An open cache file with the bytes of the object from `start` to `end`, inclusive. */
interface Piece {
  fd: number;
  start: number;
  end: number;
}

const READ_BYTES = 1024 * 1024;
/** A file may be evicted before it is opened. After this many attempts, the cache is bypassed. */
const OPEN_ATTEMPTS = 3;

const readAsync = promisify(read);

/** Creates handles that read from cache files, and download what is missing. */
export function createCachedHandles({
  remote,
  files,
  fetcher,
  maxWholeBytes,
  blockBytes,
  idOf,
  count,
  warn,
  warmRead,
}: CachedHandlesDeps) {
  /** `source`: the object in the remote store, if it is already open. */
  function createHandle(
    key: string,
    id: string,
    size: number,
    version: string | undefined,
    source: ObjectHandle | undefined,
  ): CachedHandle {
    const isSame = (file: CachedFile) => file.size === size && file.version === (version ?? "");

    /** Throws objectChanged if another object is now stored under the key. */
    async function openRemote(): Promise<ObjectHandle> {
      if (source !== undefined) return source;
      const opened = await remote.open(key);
      if (opened?.size !== size || opened.version !== version) throw storeErrors.objectChanged({ key });
      return (source = opened);
    }

    function cachedFile(): CachedFile | undefined {
      const file = files.find(id);
      return file !== undefined && isSame(file) ? file : undefined;
    }

    async function wholeFile(): Promise<CachedFile> {
      const cached = cachedFile();
      if (cached !== undefined) return cached;
      const object = await openRemote();
      count("miss");
      const file = await fetcher.fetch({ id, key, object, start: 0, end: size - 1 });
      if (!isSame(file)) throw storeErrors.objectChanged({ key });
      return file;
    }

    async function blockFile(index: number): Promise<CachedFile> {
      // The name contains the version, so that blocks of an earlier object are never used.
      const blockId = `${idOf(`${key}\n${size}\n${version ?? ""}`)}-${index}`;
      const cached = files.find(blockId);
      if (cached !== undefined) {
        count("hit");
        return cached;
      }
      const start = index * blockBytes;
      const object = await openRemote();
      count("miss");
      return fetcher.fetch({ id: blockId, key, object, start, end: Math.min(size, start + blockBytes) - 1 });
    }

    /** Resolves with the file that contains `position`, which the caller must close. Rejects with CacheUnavailable. */
    async function openPiece(position: number): Promise<Piece> {
      for (let attempt = 0; attempt < OPEN_ATTEMPTS; attempt++) {
        const isWhole = size <= maxWholeBytes || cachedFile() !== undefined;
        const index = Math.floor(position / blockBytes);
        const file = await (isWhole ? wholeFile() : blockFile(index));
        const fd = openFile(file);
        const start = isWhole ? 0 : index * blockBytes;
        if (fd !== undefined) return { fd, start, end: start + file.size - 1 };
      }
      throw new CacheUnavailable(`${key} was evicted while it was being opened`);
    }

    /** Undefined if the file no longer exists. */
    function openFile(file: CachedFile): number | undefined {
      try {
        return openSync(file.path, "r");
      } catch (err) {
        if (codeOf(err) !== "ENOENT") throw new CacheUnavailable("cannot open a cache file", { cause: err });
        if (files.find(file.id) === file) files.remove(file.id);
        return undefined;
      }
    }

    async function* chunks(start: number, end: number): AsyncGenerator<Buffer> {
      for (let position = start; position <= end;) {
        let piece: Piece;
        try {
          piece = await openPiece(position);
        } catch (err) {
          if (!(err instanceof CacheUnavailable)) throw err;
          warn(err);
          count("bypass");
          yield* (await openRemote()).read({ start: position, end }) as AsyncIterable<Buffer>;
          return;
        }
        // Fetches the next block while this one is sent.
        if (piece.end < end && piece.end + 1 < size) prefetch(piece.end + 1);
        try {
          for (const last = Math.min(end, piece.end); position <= last;) {
            const wanted = Math.min(READ_BYTES, last - position + 1);
            const buffer = Buffer.allocUnsafeSlow(wanted);
            const { bytesRead } = await readAsync(piece.fd, buffer, 0, wanted, position - piece.start);
            if (bytesRead === 0) throw tooShort();
            position += bytesRead;
            yield buffer.subarray(0, bytesRead);
          }
        } finally {
          closeSync(piece.fd);
        }
      }
    }

    function prefetch(position: number): void {
      blockFile(Math.floor(position / blockBytes)).catch(() => {});
    }

    function createReader(first: Piece | undefined): ObjectReader {
      let piece = first;
      let isClosed = false;
      const closePiece = () => {
        if (piece !== undefined) closeSync(piece.fd);
        piece = undefined;
      };

      function readPiece({ fd, start, end }: Piece, into: Buffer, position: number): number | Promise<number> {
        const wanted = Math.min(into.length, end - position + 1);
        return warmRead(fd, wanted === into.length ? into : into.subarray(0, wanted), position - start);
      }

      async function readSlowly(into: Buffer, position: number): Promise<number> {
        let opened: Piece;
        try {
          opened = await openPiece(position);
        } catch (err) {
          if (!(err instanceof CacheUnavailable)) throw err;
          warn(err);
          count("bypass");
          return readRemote(await openRemote(), into, position);
        }
        closePiece();
        piece = opened;
        if (isClosed) {
          closePiece();
          throw new Fault("the reader was closed during a read");
        }
        return readPiece(opened, into, position);
      }

      return {
        read(into, position) {
          if (position < 0 || position >= size) throw tooShort();
          if (piece !== undefined && position >= piece.start && position <= piece.end)
            return readPiece(piece, into, position);
          return readSlowly(into, position);
        },
        close() {
          isClosed = true;
          closePiece();
        },
      };
    }

    async function readRemote(object: ObjectHandle, into: Buffer, position: number): Promise<number> {
      let done = 0;
      const range = { start: position, end: Math.min(size, position + into.length) - 1 };
      for await (const chunk of object.read(range) as AsyncIterable<Buffer>) done += chunk.copy(into, done);
      return done;
    }

    return {
      size,
      ...(version !== undefined && { version }),
      wholeFile,
      read(range) {
        const { start, end = size - 1 } = range ?? { start: 0 };
        const isValid =
          Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && start < size && end >= start;
        if (range !== undefined && !isValid) throw storeErrors.badRange({ start, end, size });
        return Readable.from(chunks(start, Math.min(end, size - 1)), { objectMode: false });
      },
      async bytes() {
        const parts: Buffer[] = [];
        for await (const part of chunks(0, size - 1)) parts.push(part);
        return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
      },
      reader() {
        const cached = cachedFile();
        let fd: number | undefined;
        try {
          fd = cached && openFile(cached);
        } catch (err) {
          // The first read retries, and falls back to the remote store.
          warn(err);
        }
        return createReader(fd === undefined ? undefined : { fd, start: 0, end: size - 1 });
      },
    };
  }

  return {
    async open(key: string): Promise<CachedHandle | undefined> {
      const id = idOf(key);
      const cached = files.find(id);
      if (cached?.version !== undefined) {
        count("hit");
        return createHandle(key, id, cached.size, cached.version === "" ? undefined : cached.version, undefined);
      }
      const source = await remote.open(key);
      if (cached !== undefined && files.find(id) === cached) {
        // This process stored the object without knowing its version, which is known now.
        if (source?.size === cached.size) cached.version = source.version ?? "";
        else files.remove(id);
      }
      return source && createHandle(key, id, source.size, source.version, source);
    },
  };
}

const tooShort = () => new Fault("an object is shorter than its recorded size");
