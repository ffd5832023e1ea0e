import type { WorkerScript } from "./script.ts";

/** The interface of the component that runs versions, as deploys use it; implemented by `live/`. */
export interface LiveVersions {
  /** Starts a version that is not referenced yet. If it throws scriptRefused, nothing is left behind. */
  startTrial(worker: WorkerScript): Promise<Trial>;
  /**
   * Call when the deployment of this script has changed: resolves when the next request on this machine uses the new
   * one. Versions that are no longer deployed complete their work and are unloaded.
   */
  refresh(scriptId: string): Promise<void>;
}

/** A version that has started. It remains loaded until one of the two methods is called. */
interface Trial {
  /** Milliseconds until its first response. */
  startupMs: number;
  handlers: string[];
  /** Names of the exported classes that can be Durable Objects. */
  classes: string[];
  /** Call when the version has been stored: its process then serves requests or ends when idle. */
  keep(): void;
  /** Call when the version was not stored. */
  drop(): void;
}
