/**
 * One row for each input that has, or recently had, a publisher: which process controls the broadcast, and as which
 * video. A process that does not renew its rows is considered dead. While a broadcast waits for its publisher, any
 * process may take it: the publisher may reconnect to another one.
 */
export interface BroadcastLeases {
  /**
   * `begun`: a new broadcast, under the offered uid. `continued`: a video that is still open. `busy`: another process
   * has a publisher. `over`: an earlier broadcast must be finished first, by the caller, which now owns it and then
   * calls again.
   */
  acquire(
    claim: LeaseClaim,
  ): Promise<{ kind: "begun" | "continued"; video: string } | { kind: "busy" } | { kind: "over"; row: BroadcastRow }>;
  /**
   * Records that the publisher has disconnected: the broadcast ends at this time and cannot be continued afterwards.
   * False: another process owns it.
   */
  setEndTime(key: LeaseKey, overAt: number): Promise<boolean>;
  /** Removes the row of a finished broadcast. */
  drop(key: LeaseKey): Promise<boolean>;
  /** Renews all rows of an owner; resolves with the inputs. */
  renew(owner: string, until: number): Promise<Set<string>>;
  /** Releases all rows of this owner, so that another process can take over immediately. */
  release(owner: string, now: number): Promise<void>;
  /** Expires the rows of other owners. Call it only if no other process is running, so that all of them are dead. */
  expireOthers(owner: string, now: number): Promise<void>;
  /** Resolves with rows without an owner, and those of this owner. A few hundred per call. */
  findLapsed(owner: string, now: number): Promise<BroadcastRow[]>;
  /** If several processes see the same row, exactly one gets it. */
  adopt(row: BroadcastRow, newOwner: { owner: string; until: number }): Promise<boolean>;
  find(input: string): Promise<BroadcastRow | undefined>;
}

interface LeaseKey {
  input: string;
  owner: string;
}

export interface LeaseClaim extends LeaseKey {
  account: string;
  /** For a new broadcast; "": not recorded. */
  video: string;
  now: number;
  until: number;
  timeoutMs: number;
  deleteAfterDays: number | null;
}

export interface BroadcastRow extends LeaseKey {
  account: string;
  video: string;
  leaseUntil: number;
  /** Null if a publisher is connected. */
  overAt: number | null;
  timeoutMs: number;
  deleteAfterDays: number | null;
}
