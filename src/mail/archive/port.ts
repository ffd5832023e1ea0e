import type { ObjectHandle } from "../../store/index.ts";
import type { MailSource } from "../messages/index.ts";

/** A message whose raw content is kept for later inspection. */
export interface ArchivedMail {
  /** Id of the message in the log: `Entry.message` of the kind `routing`, 32 hex digits. */
  id: string;
  /** The account that may read it; "" if it has none. */
  account: string;
}

/**
 * Raw messages as they were received, with the fields that the server added. The message log is their index: an entry
 * of the log leads to its message.
 */
export interface MessageArchive {
  /**
   * Total size at the last sweep, plus the bytes that this process has stored since. Updated by the caller if another
   * process has run the sweep.
   */
  storedBytes: number;
  /**
   * Never rejects: a message is accepted even if its copy cannot be stored. The source still belongs to the caller, who
   * keeps it until this resolves.
   */
  store(mail: ArchivedMail, source: Pick<MailSource, "open" | "size">): Promise<void>;
  /**
   * Undefined if the message was not stored, has expired, or belongs to another account. `at`: when it was received.
   */
  open(mail: ArchivedMail & { at: number }): Promise<ObjectHandle | undefined>;
  /** Deletes messages; missing ones are ignored. */
  delete(mails: readonly (ArchivedMail & { at: number })[]): Promise<void>;
  /** Deletes messages that have expired or exceed the storage limit; resolves with their number. */
  sweep(): Promise<number>;
}
