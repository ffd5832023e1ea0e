import type { Readable } from "node:stream";
import type { Page, PageRequest } from "../../kernel/index.ts";
import type { MessageContent } from "../archive/index.ts";
import type { InboxKind, InboxStatus } from "./kinds.ts";
import type { InboxSearch } from "./search.ts";

/** The result for one recipient of a received message. */
export interface InboxDelivery {
  to: string;
  worker?: string;
  /** `ok`, or the reason why the worker failed. Absent while the worker is running. */
  outcome?: string;
  /** The reason passed to setReject(). */
  rejected?: string;
  exception?: string;
  /** The SMTP reply, if the message was not accepted: "550 5.7.1 …". */
  reply?: string;
}

/** Sender authentication results; absent if the server does not authenticate senders. */
export interface InboxAuthentication {
  spf?: string;
  dkim?: string;
  dmarc?: string;
}

/** A stored message without its content. */
export interface InboxMessage {
  /** 32 hex digits. */
  id: string;
  account: string;
  kind: InboxKind;
  status: InboxStatus;
  at: Date;
  /** Envelope sender ("" is the null sender) and recipients. */
  from: string;
  to: string[];
  /** The From field, decoded. */
  author: string;
  subject: string;
  /** With angle brackets. */
  messageId: string | undefined;
  /** The beginning of the text. */
  preview: string;
  /** Size of the raw message in bytes. */
  size: number;
  /** Number of attachments that are not part of the HTML. */
  attachments: number;
  read: boolean;
  /** The worker that sent it. For a received message: the worker of its first recipient. */
  worker: string | undefined;
  /** The received message that caused this one. */
  parent: string | undefined;
  deliveries: InboxDelivery[];
  authentication: InboxAuthentication | undefined;
}

export interface NewInboxMessage extends Pick<InboxMessage, "id" | "kind" | "status" | "from" | "to"> {
  account: string;
  worker?: string | undefined;
  parent?: string | undefined;
  raw: () => Readable | Uint8Array;
  /** The same bytes in a file that never changes, if there is one. It must exist until add() resolves. */
  file?: string | undefined;
}

export type InboxChange = Partial<Pick<InboxMessage, "status" | "deliveries" | "authentication" | "worker" | "read">>;

/** The stored messages of accounts, searchable. The oldest are deleted when a bound is exceeded. */
export interface Inbox {
  /**
   * Resolves when the inbox no longer needs `raw` and `file`. Later reads find the message. Never rejects: a message is
   * handled even if its copy cannot be stored.
   */
  add(message: NewInboxMessage): Promise<void>;
  /** Changes a message that is being added or was added. Later reads see the change. */
  update(account: string, id: string, change: InboxChange): void;
  /** Resolves with the messages that match, newest first. Throws inboxSearchInvalid. */
  list(account: string, search: InboxSearch, page: PageRequest): Promise<Page<InboxMessage>>;
  /**
   * Resolves with the newest messages once at least `count` match, or after `timeoutMs` with those that match by then.
   * Throws tooManyInboxWaiters.
   */
  wait(
    account: string,
    search: InboxSearch,
    options: { count: number; timeoutMs: number; page: PageRequest; signal?: AbortSignal },
  ): Promise<Page<InboxMessage>>;
  /** Throws inboxMessageMissing. */
  get(account: string, id: string): Promise<InboxMessage>;
  /** Resolves with messages that a received message caused, oldest first; at most 100. */
  causedBy(account: string, id: string): Promise<InboxMessage[]>;
  /** Resolves with the raw message. Throws inboxMessageMissing. */
  raw(account: string, id: string): Promise<Uint8Array>;
  /** Throws inboxMessageMissing. */
  content(account: string, id: string): Promise<MessageContent>;
  /** Throws inboxMessageMissing. */
  delete(account: string, id: string): Promise<void>;
  /** Deletes every message that matches; resolves with their number. */
  deleteMatching(account: string, search: InboxSearch): Promise<number>;
  /** Calls `listener` with the id after each change, or with "" after several. Returns the unsubscribe function. */
  onChange(listener: (account: string, id: string) => void): () => void;
  close(): Promise<void>;
}
