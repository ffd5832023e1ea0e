import type { RateLimits } from "../kernel/rate-limits.ts";
import type { Db } from "./db/port.ts";
import type { Events } from "./events/port.ts";
import type { Jobs } from "./jobs/port.ts";
import type { ObjectStore } from "./objects/port.ts";
import type { Sweeps } from "./sweeps/port.ts";

/** The storage of one installation: database, objects, events, jobs and sweeps. */
export interface Store {
  db: Db;
  objects: ObjectStore;
  events: Events;
  jobs: Jobs;
  sweeps: Sweeps;
  limits: RateLimits;
}
