import { messageOf, type Clock, type Log } from "../../kernel/index.ts";
import type { Delivery, Outcome } from "../actions/settle.ts";
import type { Tell } from "../actions/tell.ts";
import { isVouchedFor } from "../forwarding/vouched.ts";
import type { Settled } from "../messages/types.ts";
import type { Bounces } from "../bounces/types.ts";
import type { Held, HeldRecipient } from "./types.ts";

export interface MixedParts {
  held?: Pick<Held, "hold"> | undefined;
  bounces?: Pick<Bounces, "bounce"> | undefined;
  tell: Tell;
  clock: Pick<Clock, "now">;
  log: Log;
}

type Failed = Outcome & { settled: Extract<Settled, { ok: false }> };

/**
 * One answer for recipients that fared differently, since SMTP has one reply after DATA (RFC 5321 4.1.1.4):
 *
 *  - nobody has the message: it is refused, for now if any refusal is for now, and stays with the sender.
 *  - somebody has it: to refuse it would bring it to them twice, or call it lost. It is taken; whoever could not have it yet is tried again
 *    from what is held, and the sender is told of refusals.
 *
 * What can be neither held nor told stays a refusal, and the sender comes again: twice is better than never. The results say what there is
 * left to refuse.
 */
export function createMixed({ held, bounces, tell, clock, log }: MixedParts) {
  function say(
    message: string,
    { settled: { rcpt, temporary, reply }, account, zone }: Failed,
    more: Record<string, unknown> = {},
  ) {
    tell(message, temporary ? "deferred" : "rejected", { ...reply, ...more }, { rcpt, account, zone });
  }

  async function hold({ envelope, message, verdict }: Delivery, failed: Failed[], bounce: boolean): Promise<boolean> {
    if (held === undefined || failed.length === 0) return failed.length === 0;
    const recipients = failed.map(({ settled: { rcpt, reply }, left, account, zone }): HeldRecipient => ({
      rcpt,
      reply,
      account,
      zone,
      ...(left && left.length > 0 && { to: left }),
      ...(bounce && { bounce }),
    }));
    try {
      await held.hold({ envelope, source: message.source, verdict, recipients });
      return true;
    } catch (err) {
      log.error(
        { err, message: message.source.id },
        `a message could not be held for some of its recipients: ${messageOf(err)}`,
      );
      return false;
    }
  }

  /** Undefined where the sender could not be told, though it should be. */
  async function bounce(
    { envelope, message: { source }, verdict }: Delivery,
    failed: Failed[],
  ): Promise<boolean | undefined> {
    const { account, zone } = failed[0]!;
    const recipients = failed.map(({ settled: { rcpt, reply } }) => ({ rcpt, reply }));
    try {
      return await bounces!.bounce({
        inbound: { id: source.id },
        account,
        zone,
        envelope,
        vouched: isVouchedFor(envelope, verdict),
        recipients,
        source,
        arrivedAt: new Date(clock.now()),
      });
    } catch (err) {
      log.warn(
        { err, message: source.id },
        `the sender of a message could not be told of refusals yet: ${messageOf(err)}`,
      );
      return undefined;
    }
  }

  /** `delivery` is undefined for a message that was not let in: nobody holds it, and its sender hears the refusal itself. */
  return async (id: string, delivery: Delivery | undefined, outcomes: readonly Outcome[]): Promise<Settled[]> => {
    const failed = outcomes.filter((one): one is Failed => !one.settled.ok);
    const [later, never] = [
      failed.filter(({ settled }) => settled.temporary),
      failed.filter(({ settled }) => !settled.temporary),
    ];
    const taken = new Set<Outcome>();
    const take = (some: Failed[], detail: Record<string, unknown>) => {
      for (const one of some) {
        taken.add(one);
        say(id, one, detail);
      }
    };
    if (
      delivery !== undefined &&
      failed.length > 0 &&
      failed.length < outcomes.length &&
      (await hold(delivery, later, false))
    ) {
      take(later, { held: true });
      if (never.length > 0 && bounces !== undefined) {
        const told = await bounce(delivery, never);
        if (told !== undefined) take(never, { told });
        else if (await hold(delivery, never, true)) take(never, { held: true });
      }
    }
    return outcomes.map((one): Settled => {
      const { settled } = one;
      if (settled.ok || taken.has(one)) return { rcpt: settled.rcpt, ok: true };
      say(id, one as Failed);
      return settled;
    });
  };
}
