import type { Ids } from "../kernel/index.ts";
import type { ObjectHandle } from "../store/index.ts";
import type { Entry, SentMessages } from "./activity/index.ts";
import type { HandlingResult } from "./actions/index.ts";
import type { MessageArchive } from "./archive/index.ts";
import { readMessage, type Spool } from "./messages/index.ts";
import type { Receiver } from "./receive.ts";

/** The contents of messages in the log. */
export interface MessageContents {
  /** Opens the raw message of an entry; undefined if it is not kept. */
  open(entry: Pick<Entry, "kind" | "message" | "account" | "at">): Promise<ObjectHandle | undefined>;
  /**
   * Passes the message of an entry to a worker again and logs it as a new message. `script` is the name that the
   * runtime uses. Undefined if the content is not kept.
   */
  replay(entry: Entry, target: { script: string; to: string }): Promise<Replayed | undefined>;
}

interface Replayed extends Pick<HandlingResult, "outcome" | "exception" | "rejectReason" | "forwards" | "replies"> {
  /** Id of the new message in the log. */
  message: string;
}

interface MessageContentsDeps {
  archive: Pick<MessageArchive, "open"> | undefined;
  sentMessages: Pick<SentMessages, "open">;
  receiver: Pick<Receiver, "dispatch">;
  spool: Pick<Spool, "collect">;
  ids: Pick<Ids, "hex">;
}

export function createMessageContents({
  archive,
  sentMessages,
  receiver,
  spool,
  ids,
}: MessageContentsDeps): MessageContents {
  async function open({ kind, message, account, at }: Pick<Entry, "kind" | "message" | "account" | "at">) {
    return kind === "sending" ? sentMessages.open(account, message) : archive?.open({ account, id: message, at });
  }

  return {
    open,
    async replay(entry, { script, to }) {
      const stored = await open(entry);
      if (stored === undefined) return undefined;
      const source = await spool.collect(stored.read(), { id: ids.hex() });
      const { account, zone, from } = entry;
      const handled = await receiver.dispatch({
        script,
        from,
        to,
        message: readMessage(source),
        account,
        ...(zone !== "" && { zone }),
      });
      return { ...handled, message: source.id };
    },
  };
}
