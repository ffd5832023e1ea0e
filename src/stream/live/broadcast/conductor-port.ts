import type { LiveSession } from "../session.ts";
import type { BroadcastRow } from "./leases.ts";

/** What becomes of one input: sessions one after the other, and the videos they are in. Everything is done in the order in which it was told. */
export interface Conductor {
  session(session: LiveSession): void;
  /** The input has other settings, or is gone. */
  changed(): void;
  /** What another process, or an attempt before, has left: it waits for its publisher, or is finished. */
  recover(row: BroadcastRow): void;
  /** The row is another's now; or, `gone`, the video has been deleted. */
  lost(video: string, gone: boolean): void;
  /** There is no room for more of it. */
  full(): void;
  /** The video that is open here; "": one that is not recorded. Undefined: none. */
  open(): string | undefined;
  /** The runs end here; another process, or the next life of this one, goes on. */
  close(): Promise<void>;
}
