import type { Db } from "./db/port.ts";
import type { Events } from "./events/port.ts";
import type { Jobs } from "./jobs/port.ts";
import type { ObjectStore } from "./objects/port.ts";

/** The storage of one installation: database, objects, events and jobs. */
export interface Store {
  db: Db;
  objects: ObjectStore;
  events: Events;
  jobs: Jobs;
}
