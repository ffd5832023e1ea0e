import type { WorkerRuntime } from "../runtime/port.ts";

/** Live logs of deployed workers, delivered to whoever holds a tail's id, whichever process the worker runs in and whichever holds the reader. */
export interface Tails {
  /** `filters` as the client sent them; `clientIp` is what they call "self". The tail ends when its token may no longer read it. Throws badFilter, tooManyTails. */
  create(
    account: string,
    script: string,
    options: { filters?: unknown; clientIp?: string | undefined; token?: string },
  ): Promise<Tail>;
  /** Newest first. */
  list(account: string, script: string): Promise<Tail[]>;
  /** Ends a tail; its reader is closed. False when there is none. */
  delete(account: string, script: string, id: string): Promise<boolean>;
  /** For a worker that is deleted. */
  deleteAll(account: string, script: string): Promise<void>;
  /** Tells readers what these workers do. Returns the function that stops it. */
  watch(runtime: Pick<WorkerRuntime, "onInvocation">): () => void;
  /** Joins a reader with its tail; a later one takes its place. Undefined when there is no such tail (any more). Throws tooManyReaders. */
  read(id: string, connection: ReaderConnection): Promise<TailReader | undefined>;
  /** Call after a token changed: ends the tails that their token may no longer read. */
  recheck(): Promise<void>;
  /** What happens every heartbeat by itself: readers keep their tails alive, what has expired goes. */
  beat(): Promise<void>;
  close(): Promise<void>;
}

export interface Tail {
  /** 32 hex digits that nobody can guess. */
  id: string;
  expiresAt: Date;
}

/** A reader's connection, as the tails see it. */
export interface ReaderConnection {
  /** One record, a JSON text. False: it is taken, but no more before TailReader.drained(). */
  write(text: string): boolean;
  /** The tail has ended, or another reader came. */
  close(): void;
}

export interface TailReader {
  /** The connection can take more. */
  drained(): void;
  /** The connection is gone. The tail lives on for a while. */
  left(): void;
}
