import type { Writable } from "node:stream";
import type { MediaResult } from "./port.ts";

/** An ffmpeg that runs for as long as a broadcast does: what is given to it goes in by its standard input (`pipe:0`), what it makes comes out by pipes 3, 4, … */
export interface LiveMediaRun {
  /** As those of a MediaRun. Inputs are `pipe:0`, a file of `reads`, or made by ffmpeg itself (`-f lavfi`); outputs are `pipe:3` for the first of `outputs`, `pipe:4` for the second, and so on. */
  args: string[];
  /** Take what it writes as it comes; awaited, so each holds back its own pipe. What one throws ends the run, and `done` rejects with it. */
  outputs: readonly ((chunk: Buffer) => void | Promise<void>)[];
  /** Files it may read. Default: none. */
  reads?: string[];
  /** It may connect to others (only as an output: inputs stay what they are). By IP address: no names are resolved there. Where it connects to is for the caller to have checked. */
  network?: boolean;
  signal?: AbortSignal;
  /** How it comes to a processor. It waits for no place whatever it is: who may run is decided before. Default "urgent". */
  urgency?: "urgent" | "soon" | "background";
  /** Milliseconds without anything taken from `stdin` and anything come out, after which it is killed. Default 60,000. */
  idleMs?: number;
  /** Octets that may wait in `stdin`: over it the run is killed (reason "input"). Default 64 MiB. */
  inputBytes?: number;
  /** Threads of the decoders; default: as many as ffmpeg likes. Those of an encoder are an option of its output. */
  threads?: number;
  /** Address space, in MiB. Default 4096. */
  memoryMb?: number;
}

export interface LiveMedia {
  /** May be written to at once, before the program is up; its `writableLength` is what waits. Never emits "error": what is written after the end goes nowhere, and `done` tells of it. Ended: ffmpeg writes the rest and ends. */
  readonly stdin: Writable;
  /** When it ended by itself and everything it wrote was taken; `output` is empty. Rejects MediaRunError as MediaTools.ffmpeg does; no unhandled rejection if nobody looks. */
  readonly done: Promise<MediaResult>;
  /** At once, with all its children; `done` rejects with reason "aborted". After the end: nothing. */
  kill(): void;
}
