/**
 * One row for each input that is published to, or was a moment ago: who conducts the broadcast, and as which video. A process that does not renew its
 * rows is taken for dead. While a broadcast waits for its publisher, any process may take it: the publisher may come back to another one.
 */
export interface BroadcastLeases {
  /**
   * `begun`: there was none, it is under the uid that was offered. `continued`: a video that is open still. `busy`: another process has a publisher.
   * `over`: one is to be finished first, by the caller, whose it is now; then to be asked again.
   */
  take(
    claim: LeaseClaim,
  ): Promise<{ kind: "begun" | "continued"; video: string } | { kind: "busy" } | { kind: "over"; row: BroadcastRow }>;
  /** There is no publisher: over at this time, so that nobody goes on with it after that. False: it is another's. */
  wait(mine: Mine, overAt: number): Promise<boolean>;
  /** It is finished. */
  drop(mine: Mine): Promise<boolean>;
  /** All rows of an owner; resolves with the inputs. */
  renew(owner: string, until: number): Promise<Set<string>>;
  /** Another process may have them at once. */
  release(owner: string, now: number): Promise<void>;
  /** No other process is alive: whatever is there was left by a dead one. */
  orphaned(owner: string, now: number): Promise<void>;
  /** Rows of nobody, and those of this owner. Some hundred at once. */
  lapsed(owner: string, now: number): Promise<BroadcastRow[]>;
  /** Of several who see the same row one gets it. */
  adopt(row: BroadcastRow, by: { owner: string; until: number }): Promise<boolean>;
  find(input: string): Promise<BroadcastRow | undefined>;
}

export interface Mine {
  input: string;
  owner: string;
}

export interface LeaseClaim extends Mine {
  account: string;
  /** For a new one; "": nothing is to be recorded. */
  video: string;
  now: number;
  until: number;
  timeoutMs: number;
  deleteAfterDays: number | null;
}

export interface BroadcastRow extends Mine {
  account: string;
  video: string;
  leaseUntil: number;
  /** Null: there is a publisher. */
  overAt: number | null;
  timeoutMs: number;
  deleteAfterDays: number | null;
}
