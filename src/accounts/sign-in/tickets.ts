import type { Clock, Ids } from "../../kernel/index.ts";
import type { Secrets } from "../../store/index.ts";
import { accountErrors } from "../errors.ts";

/**
 * State between the two requests of a sign-in, encrypted and kept by the client. The server stores nothing before a
 * sign-in succeeds, so requests without credentials cannot fill the database, and any process can continue.
 */
interface Tickets<Content extends object> {
  create(content: Content): string;
  /** Throws signInExpired if the ticket is invalid, expired, or was created for another purpose. */
  open(ticket: string): Content & TicketTimes;
}

interface TicketTimes {
  /** Unique. */
  id: string;
  expiresAt: number;
}

const MAX_AGE_MS = 5 * 60_000;

interface TicketsDeps {
  secrets: Secrets;
  clock: Clock;
  ids: Ids;
  purpose: string;
  maxAgeMs?: number;
}

export function createTickets<Content extends object>({
  secrets,
  clock,
  ids,
  purpose,
  maxAgeMs = MAX_AGE_MS,
}: TicketsDeps): Tickets<Content> {
  const context = `sign-in/${purpose}`;
  return {
    create: (content) =>
      secrets.seal(JSON.stringify({ ...content, id: ids.hex(), expiresAt: clock.now() + maxAgeMs }), context),
    open(ticket) {
      let content: Content & TicketTimes;
      try {
        content = JSON.parse(secrets.open(ticket, context)) as Content & TicketTimes;
      } catch (cause) {
        throw accountErrors.signInExpired({}, { cause });
      }
      if (clock.now() >= content.expiresAt) throw accountErrors.signInExpired();
      return content;
    },
  };
}
