import type { AccountsModule, Caller } from "../../accounts/index.ts";
import { UserError } from "../../kernel/index.ts";
import { domainOf } from "../../protocol/rfc5322/index.ts";
import type { Zone, Zones } from "../../zones/index.ts";
import type { DsnRequest, MailSource, SmtpReply } from "../messages/index.ts";
import type { SubmissionPorts } from "./types.ts";

export interface SubmittersDeps {
  accounts: Pick<AccountsModule, "authenticate">;
  zones: Pick<Zones, "byName">;
  sending: {
    send(request: {
      account: string;
      via: "smtp";
      from: string;
      to: readonly string[];
      raw: MailSource;
      dsn?: DsnRequest;
    }): Promise<{
      messageId: string;
      delivered: string[];
      queued: string[];
      suppressed: string[];
      rejections: { rcpt: string; reply: SmtpReply }[];
    }>;
  };
}

/** A token can submit from the domains of every zone it has permission for. */
export function createSubmitters({ accounts, zones, sending }: SubmittersDeps): SubmissionPorts<Caller> {
  async function zoneOf(caller: Caller, from: string): Promise<Zone | undefined> {
    const domain = domainOf(from).toLowerCase();
    const zone = domain === "" ? undefined : await zones.byName(domain, { enclosing: true });
    return zone !== undefined && caller.allows("Email Sending Write", { zone: zone.id, account: zone.account })
      ? zone
      : undefined;
  }

  return {
    async authenticate(token, ip) {
      const caller = await accounts.authenticate({ secret: token, ip });
      return caller !== undefined && caller.accounts.length > 0 ? caller : undefined;
    },
    checkSender: async (caller, from) => ((await zoneOf(caller, from)) === undefined ? senderDenied(from) : undefined),
    async submit(caller, { from, to, dsn }, raw) {
      try {
        const zone = await zoneOf(caller, from);
        if (zone === undefined) return senderDenied(from);
        const { messageId, delivered, queued, suppressed, rejections } = await sending.send({
          account: zone.account,
          via: "smtp",
          from,
          to,
          raw,
          ...(dsn && { dsn }),
        });
        const [refusal] = rejections;
        // Suppressed recipients are dropped silently, as on the hosted service.
        if (refusal !== undefined && delivered.length + queued.length + suppressed.length === 0) return refusal.reply;
        return { code: 250, enhanced: "2.0.0", text: `Ok ${messageId}` };
      } catch (err) {
        // An error without an SMTP reply is caused by the message, so a retry cannot succeed.
        if (err instanceof UserError && err.entry.smtp === undefined && err.entry.http < 500)
          return { code: 554, enhanced: "5.6.0", text: err.message };
        throw err;
      } finally {
        await raw.discard();
      }
    },
  };
}

const senderDenied = (from: string): SmtpReply => ({
  code: 550,
  enhanced: "5.7.1",
  text: `Sender denied: this token may not send mail from ${domainOf(from) || from}`,
});
