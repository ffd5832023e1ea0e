/**
 * A comparison of the same work done by us and by a peer (or the physical limit), interleaved in one run.
 * `bench/<name>.bench.ts` exports one as its default.
 */
export interface Bench {
  name: string;
  /** Creates fixtures and starts the servers to be measured. Everything it starts is registered with `kit.onStop`. */
  setup(kit: BenchContext): Promise<PreparedBench>;
}

export interface BenchContext {
  /** A new folder on the repository's disk, removed at the end. */
  dir: string;
  /** Options of single benchmarks, as given. */
  options?: { engine?: string | undefined; rows?: string | undefined; only?: string | undefined };
  /** Prints one line to stderr. */
  say(line: string): void;
  /** Callbacks run in reverse order, even after a failure. */
  onStop(stop: () => Promise<void> | void): void;
}

export interface PreparedBench {
  /** The exact version of every peer. */
  peers: Record<string, string>;
  arms: Arm[];
  /** Returns the figures of one round, computed from its samples. The result contains the median over all rounds. */
  figures(samples: Samples): Record<string, number>;
}

export interface Arm {
  name: string;
  /** Unit for the progress line: "msg/s", "ms". */
  unit: string;
  /**
   * Takes one sample. Throws if the work was not done correctly, so that a wrong response never counts as a fast one.
   */
  sample(): Promise<number>;
}

/** One number per arm, by name. */
type Samples = (arm: string) => number;
