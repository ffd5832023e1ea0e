import type { WorkerRuntime } from "../runtime/port.ts";
import type { ScriptReferences } from "../scripts/references.ts";

/**
 * Live logs of deployed workers, delivered to any client that knows a tail's id; worker and reader may be in different
 * processes.
 */
export interface Tails {
  /**
   * `filters` as sent by the client; `clientIp` replaces "self". The tail ends when its token loses the permission to
   * read it. Throws badFilter, tooManyTails.
   */
  create(
    account: string,
    script: string,
    options: { filters?: unknown; clientIp?: string | undefined; token?: string },
  ): Promise<Tail>;
  /** Newest first. */
  list(account: string, script: string): Promise<Tail[]>;
  /** Ends a tail and closes its reader. Resolves with false if it does not exist. */
  delete(account: string, script: string, id: string): Promise<boolean>;
  /** Ends all tails of a deleted worker. */
  deleteAll(account: string, script: string): Promise<void>;
  /** The workers that are tailed. */
  readonly references: ScriptReferences;
  /** Sends the invocations of these workers to readers. Returns the function that stops it. */
  watch(runtime: Pick<WorkerRuntime, "onInvocation">): () => void;
  /**
   * Connects a reader to its tail; a later one replaces it. Resolves with undefined if the tail does not exist. Throws
   * tooManyReaders.
   */
  read(id: string, connection: ReaderConnection): Promise<TailReader | undefined>;
  /** Call after a token has changed: ends the tails that their token may no longer read. */
  recheck(): Promise<void>;
  /** Runs automatically at every heartbeat: readers keep their tails alive, and expired ones are removed. */
  beat(): Promise<void>;
  close(): Promise<void>;
}

export interface Tail {
  /** 32 random hex digits. */
  id: string;
  expiresAt: Date;
}

/** A reader's connection, as used by the tails. */
export interface ReaderConnection {
  /**
   * Sends one record, a JSON text. Returns false if the record was accepted but the next one must wait for
   * TailReader.drained().
   */
  write(text: string): boolean;
  /** Called when the tail has ended or another reader has replaced this one. */
  close(): void;
}

export interface TailReader {
  /** Call this when the connection can accept more records. */
  drained(): void;
  /** Call this when the connection is closed. The tail remains for a while. */
  closed(): void;
}
