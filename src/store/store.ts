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
  /**
   * Checks the bucket by writing, reading and deleting an object. Throws StoreError. Undefined if objects are in a
   * folder.
   */
  checkObjects?: () => Promise<void>;
  events: Events;
  jobs: Jobs;
  sweeps: Sweeps;
  limits: RateLimits;
}
