import type { Clock, Ids } from "../../kernel/index.ts";
import type { MailBuilderFields } from "../../workers/ports.ts";
import type { Spool } from "../messages/index.ts";
import { composeWithLimit, readDraft, recipientsOf, REST_FIELDS } from "../sending/index.ts";

interface ComposeDeps {
  spool: Pick<Spool, "maxBytes">;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "messageId">;
}

/** Composes a message; `to` has all its recipients. Throws the errors of send(). */
export async function composeMessage(
  mail: MailBuilderFields,
  { spool, clock, ids }: ComposeDeps,
): Promise<{ from: string; to: string[]; raw: Uint8Array }> {
  const draft = readDraft(mail, REST_FIELDS);
  const raw = await composeWithLimit(draft, {
    maxBytes: spool.maxBytes,
    messageId: ids.messageId(draft.from.domain),
    at: new Date(clock.now()),
  });
  return { from: draft.from.address, to: recipientsOf(draft).map(({ address }) => address), raw };
}
