import { messageOf, type Log } from "../../kernel/index.ts";

/**
 * Metrics that are counted in memory and written every few seconds. Counting costs one map lookup; the write of an
 * interval is split into batches. A failed batch is kept and written with the next interval. At shutdown, everything is
 * written; a killed process loses the last interval.
 */
interface MetricBuffer<Cell> {
  /** The number of the interval. Once it changes, cells from earlier intervals must no longer be changed. */
  readonly interval: number;
  /** Returns the cell of this key in the current interval. */
  cell(key: string, create: () => Cell): Cell;
  /** Writes all cells. Does not reject: a failed write is logged and retried later. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

interface MetricBufferOptions<Cell> {
  /** Name in log messages: `stream: views`. */
  name: string;
  /** Writes one batch atomically. */
  write(batch: Cell[]): Promise<void>;
  /** Adds the metrics of `from` to `into`. */
  merge(into: Cell, from: Cell): void;
  log: Log;
  flushMs?: number;
  /** Cells per write. */
  batchSize?: number;
  /**
   * Number of cells at which they are written early. If a write fails and more than twice this number would be kept,
   * the cells of the failed write are discarded with a warning.
   */
  maxCells?: number;
}

export function createMetricBuffer<Cell>({
  name,
  write,
  merge,
  log,
  flushMs = 10_000,
  batchSize = 200,
  maxCells = 20_000,
}: MetricBufferOptions<Cell>): MetricBuffer<Cell> {
  let cells = new Map<string, Cell>();
  let interval = 0;
  let timer: NodeJS.Timeout | undefined;
  let pendingWrite: Promise<void> = Promise.resolve();

  function keep(key: string, cell: Cell) {
    const existing = cells.get(key);
    if (existing === undefined) cells.set(key, cell);
    else merge(existing, cell);
  }

  async function writeInterval(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    // In the same order in every process, so that their transactions cannot wait for each other.
    const written = [...cells].sort(([a], [b]) => (a < b ? -1 : 1));
    cells = new Map();
    interval++;
    for (let at = 0; at < written.length; at += batchSize) {
      try {
        await write(written.slice(at, at + batchSize).map(([, cell]) => cell));
      } catch (err) {
        const rest = written.slice(at);
        const fits = cells.size + rest.length <= 2 * maxCells;
        if (fits) for (const [key, cell] of rest) keep(key, cell);
        log.warn(
          { err, figures: rest.length },
          `${name}: failed to store metrics, ${fits ? "will retry" : "discarded"}: ${messageOf(err)}`,
        );
        if (fits) arm();
        return;
      }
    }
  }

  const arm = () => void (timer ??= setTimeout(() => void flush(), flushMs).unref());
  const flush = (): Promise<void> => (pendingWrite = pendingWrite.then(writeInterval));

  return {
    get interval() {
      return interval;
    },
    cell(key, create) {
      const existing = cells.get(key);
      if (existing !== undefined) return existing;
      const cell = create();
      cells.set(key, cell);
      if (cells.size === maxCells) void flush();
      arm();
      return cell;
    },
    flush,
    async close() {
      clearTimeout(timer);
      await flush();
      clearTimeout(timer);
    },
  };
}
