import type { Clock, Ids, Log } from "../../kernel/index.ts";
import type { Db, Events, ObjectStore, Secrets } from "../../store/index.ts";
import type { UploadLimits } from "./limits.ts";
import type { LiveVersions } from "./live-versions.ts";
import type { BindingTargets } from "./port.ts";
import type { Turns } from "./turns.ts";

/** What the files of this folder share. */
export interface Parts {
  db: Db;
  objects: ObjectStore;
  secrets: Secrets;
  events: Events;
  live: LiveVersions;
  targets: BindingTargets;
  clock: Clock;
  ids: Ids;
  log: Log;
  limits: UploadLimits;
  /** Changes of one worker follow each other. */
  turns: Turns;
}
