import type { Clock, Ids, Log } from "../../kernel/index.ts";
import type { Db, Events, ObjectStore, Secrets } from "../../store/index.ts";
import type { Assets } from "../assets/store/assets.ts";
import type { ScriptObjectsStore } from "../objects/script-objects.ts";
import type { UploadLimits } from "./limits.ts";
import type { LiveVersions } from "./live-versions.ts";
import type { BindingTargets } from "./port.ts";
import type { ScriptReferences } from "./references.ts";

/** Shared dependencies of the files in this folder. */
export interface ScriptsDeps {
  db: Db;
  objects: ObjectStore;
  secrets: Secrets;
  events: Events;
  live: LiveVersions;
  targets: BindingTargets;
  /** The references to workers by name outside this folder. */
  references: readonly ScriptReferences[];
  assets: Assets;
  /** The Durable Objects of scripts; not to be confused with `objects`, which stores the modules. */
  durableObjects: ScriptObjectsStore;
  clock: Clock;
  ids: Ids;
  log: Log;
  limits: UploadLimits;
  /** Runs the changes to one worker one after another. Rejects with tooManyDeploys if too many are waiting. */
  serialize<Result>(account: string, name: string, change: () => Promise<Result>): Promise<Result>;
}
