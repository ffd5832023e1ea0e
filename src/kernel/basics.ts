import type { Clock } from "./clock.ts";
import type { Ids } from "./ids.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { Log } from "./log.ts";
import type { Tracing } from "./tracing.ts";

/** Dependencies that every component of a server needs. */
export interface Basics {
  clock: Clock;
  ids: Ids;
  log: Log;
  lifecycle: Lifecycle;
  /** Absent unless traces are enabled. */
  tracing?: Tracing | undefined;
}
