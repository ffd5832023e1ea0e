import type { Writable } from "node:stream";

/** The system's ffmpeg and ffprobe as children that can do nothing but read the files they are given and write to a pipe or one folder. */
export interface MediaTools {
  /** Throws mediaToolsMissing, with what to install, where ffmpeg cannot be used: everything else of the program works without it. */
  ready(): Promise<MediaCapabilities>;
  /** Rejects MediaRunError (run-error.ts) when it fails, is killed, aborted or runs over a bound; encoderBusy when too many wait; mediaToolsMissing. */
  ffmpeg(run: MediaRun): Promise<MediaResult>;
  ffprobe(run: MediaRun): Promise<MediaResult>;
  /** Begins a long run of ffmpeg and returns at once: what goes wrong, a missing program too, is told by its `done`. */
  live(run: LiveMediaRun): LiveMedia;
  close(): Promise<void>;
}

export interface MediaCapabilities {
  version: string;
  encoders: ReadonlySet<string>;
  filters: ReadonlySet<string>;
  /** Confinement of child processes: bubblewrap, Landlock, resource limits only, or none. */
  sandbox: "bwrap" | "landlock" | "prlimit" | "none";
  /** User that runs them; absent: the server's own. */
  user?: { uid: number; gid: number } | undefined;
  /** Whether runs without `network` are cut off from it. */
  offline: boolean;
}

export interface MediaRun {
  /**
   * Without the program's own name; a file is named by its path, an input by `-i` (of ffprobe too). What an input may be is put before each `-i`,
   * as are quietness and `-nostdin` in front. Never text of a user.
   */
  args: string[];
  /** Files it may read. */
  reads: string[];
  /** Folder it may write to; absent: standard output only. */
  writes?: string;
  signal?: AbortSignal;
  /** How it comes to a processor: what somebody waits for goes first and is not niced. Default "background". */
  urgency?: "urgent" | "soon" | "background";
  /** Of what is made ahead: aborted as soon as somebody waits for it, so that it is not held back for others any more. */
  awaited?: AbortSignal;
  /** Milliseconds after which it is killed with all its children. Default 60,000. */
  wallMs?: number;
  /** Seconds of processor time. Default 600. */
  cpuSeconds?: number;
  /** Most octets of standard output that are kept; more is an error. Default 64 MiB. Without `onOutput`. */
  outputBytes?: number;
  /** Takes standard output as it comes; awaited, so it holds the child back. */
  onOutput?: (chunk: Buffer) => void | Promise<void>;
  /** Threads of the decoders; default: as many as ffmpeg likes. Those of an encoder are an option of its output. */
  threads?: number;
  /** Address space, in MiB. Default 4096. */
  memoryMb?: number;
  /** Most octets of a file it writes. Default 64 GiB. */
  fileBytes?: number;
}

export interface MediaResult {
  output: Buffer;
  /** The last of standard error, at most 16 KiB. */
  stderr: string;
}

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
