import type { WorkerScript } from "./script.ts";

/** What deploying needs of the place where versions run: `live/` is it. */
export interface LiveVersions {
  /** Starts a version that nothing refers to yet. Throws scriptRefused, and has left nothing behind then. */
  tryOut(worker: WorkerScript): Promise<Trial>;
  /**
   * The deployment of this script has changed: resolves when whoever comes next on this machine meets the new one.
   * Versions that are no longer deployed end what they hold, and then rest.
   */
  refresh(scriptId: string): Promise<void>;
}

/** A version that has started. It is there until one of the two is called. */
export interface Trial {
  /** Milliseconds until it answered. */
  startupMs: number;
  handlers: string[];
  /** It has been kept: its process goes on to serve, or rests. */
  keep(): void;
  /** It has not. */
  drop(): void;
}
