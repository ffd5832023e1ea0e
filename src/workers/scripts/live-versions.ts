import type { WorkerScript } from "./script.ts";

/** Required by deploying from the component that runs versions; implemented by `live/`. */
export interface LiveVersions {
  /** Starts a version that is not referenced yet. Throws scriptRefused, and then leaves nothing behind. */
  tryOut(worker: WorkerScript): Promise<Trial>;
  /**
   * Call when the deployment of this script has changed: resolves when the next request on this machine uses the new
   * one. Versions that are no longer deployed finish their work and are unloaded.
   */
  refresh(scriptId: string): Promise<void>;
}

/** A version that has started. It stays loaded until one of the two methods is called. */
export interface Trial {
  /** Milliseconds until its first response. */
  startupMs: number;
  handlers: string[];
  /** The version was stored: its process serves requests or ends when idle. */
  keep(): void;
  /** The version was not stored. */
  drop(): void;
}
