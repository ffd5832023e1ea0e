/**
 * One comparison: the same work done by us and by a peer (or by the physical floor), measured in turns within one run.
 * `bench/<name>.bench.ts` exports one as its default.
 */
export interface Bench {
  name: string;
  /** Builds the fixtures and starts what the arms measure. Everything it starts goes onto `kit.onStop`. */
  setup(kit: Kit): Promise<Prepared>;
}

export interface Kit {
  /** A fresh folder on the disk of the repository, removed at the end. */
  dir: string;
  /** One line for the reader, on stderr. */
  say(line: string): void;
  /** Stops run in reverse order, also when the bench fails. */
  onStop(stop: () => Promise<void> | void): void;
}

export interface Prepared {
  /** The exact version of everything we are measured against. */
  peers: Record<string, string>;
  arms: Arm[];
  /** The figures of one round, out of that round's samples. The result shows the median of each over all rounds. */
  figures(samples: Samples): Record<string, number>;
}

export interface Arm {
  name: string;
  /** For the progress line: "msg/s", "ms". */
  unit: string;
  /** Takes one sample. Throws when the work was not done as asked: a wrong answer is never a fast answer. */
  sample(): Promise<number>;
}

/** One number for each arm, by its name. */
export type Samples = (arm: string) => number;
