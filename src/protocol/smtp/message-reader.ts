import { createBdatReader, type ChunkReader } from "./chunk-reader.ts";
import { createDataReader, type DataReader } from "./data-reader.ts";

/** Reads mail data from DATA or BDAT, and drops the content after a bare CR or LF, or beyond the size limit. */
interface MessageReader {
  startData(): void;
  startChunk(octets: number, last: boolean): void;
  /** Skips the chunk of a refused BDAT. */
  discard(octets: number): void;
  push(input: Buffer): { content: Buffer; rest?: Buffer };
  /** Must be called once `push` has returned a rest. */
  end(): DataEnd;
  /** Discards the message. */
  reset(): void;
  /** True if a message has begun. */
  isActive(): boolean;
  /** True if the chunk is complete. */
  isComplete(): boolean;
}

type DataEnd =
  | { kind: "discarded" }
  /** More chunks follow. */
  | { kind: "chunk"; octets: number }
  /** `lineEnd` belongs to the content. */
  | { kind: "message"; lineEnd: Buffer; stray: "CR" | "LF" | undefined; oversized: boolean };

type Source =
  | { kind: "data"; reader: DataReader }
  | { kind: "chunks"; reader: ChunkReader; octets: number; last: boolean }
  | undefined;

const EMPTY = Buffer.alloc(0);

export function createMessageReader(maxSize: number): MessageReader {
  let source: Source;
  /** Number of octets still missing from a refused chunk. */
  let octetsToDiscard: number | undefined;
  let size = 0;

  /** Returns the content, unless it must be dropped. */
  function filterContent(content: Buffer): Buffer {
    size += content.length;
    return source?.reader.bareCrOrLf() !== undefined || size > maxSize ? EMPTY : content;
  }

  return {
    startData() {
      size = 0;
      source = { kind: "data", reader: createDataReader() };
    },
    startChunk(octets, last) {
      if (source?.kind !== "chunks") {
        size = 0;
        source = { kind: "chunks", reader: createBdatReader(), octets, last };
      }
      Object.assign(source, { octets, last });
      source.reader.begin(octets);
    },
    discard(octets) {
      octetsToDiscard = octets;
    },
    push(input) {
      if (octetsToDiscard !== undefined) {
        const skipped = Math.min(octetsToDiscard, input.length);
        octetsToDiscard -= skipped;
        return octetsToDiscard === 0 ? { content: EMPTY, rest: input.subarray(skipped) } : { content: EMPTY };
      }
      const { content, rest } = source!.reader.push(input);
      return { content: filterContent(content), ...(rest !== undefined && { rest }) };
    },
    end() {
      if (octetsToDiscard !== undefined) {
        octetsToDiscard = undefined;
        return { kind: "discarded" };
      }
      if (source?.kind === "chunks" && !source.last) return { kind: "chunk", octets: source.octets };
      const lineEnd = filterContent(source?.kind === "chunks" && size > 0 ? source.reader.end() : EMPTY);
      return { kind: "message", lineEnd, stray: source?.reader.bareCrOrLf(), oversized: size > maxSize };
    },
    reset() {
      source = undefined;
      size = 0;
    },
    isActive() {
      return source !== undefined;
    },
    isComplete() {
      if (octetsToDiscard !== undefined) return octetsToDiscard === 0;
      return source?.kind === "chunks" && source.reader.missingOctets() === 0;
    },
  };
}
