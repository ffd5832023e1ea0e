import { connect } from "../../api/connect.ts";
import { cursorPagesOf } from "../../api/lists.ts";
import { defineCommand } from "../../command.ts";
import { moment, printResult, table } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

interface Suppression {
  id: string;
  email: string;
  reason: string;
  created_at: string;
  expires_at: string | null;
  scope?: { type: string; value?: string };
}

export const emailSendingSuppressionsList = defineCommand({
  name: "email sending suppressions list",
  summary: "list suppressed addresses",
  options: {
    search: { type: "string", placeholder: "text", summary: "address, or `user@` for a user at any domain" },
    reason: {
      type: "string",
      choices: ["manual", "complaint", "hard_bounce", "soft_bounce", "policy"],
      summary: "reason of the suppression",
    },
    limit: {
      type: "number",
      placeholder: "number",
      min: 1,
      max: 100_000,
      summary: "maximum number of entries",
      defaultText: "1000",
    },
    ...serverOptions,
  },
  examples: [["reelpost email sending suppressions list --reason hard_bounce", "suppressed after a permanent failure"]],
  async run({ search, reason, limit = 1000, ...values }, _, surroundings) {
    const { api, base } = await connect(values, surroundings);
    const found: Suppression[] = [];
    for await (const one of cursorPagesOf<Suppression>(api, `${base}/email/sending/suppressions`, {
      query: { search, reason },
    })) {
      if (found.push(one) === limit) break;
    }
    printResult(surroundings, found, (paint) =>
      table(
        ["address", "reason", "created", "expires", "scope", "id"],
        found.map((one) => [
          one.email,
          one.reason,
          moment(one.created_at),
          one.expires_at === null ? "never" : moment(one.expires_at),
          one.scope?.value ?? "account",
          one.id,
        ]),
        paint,
      ),
    );
    return 0;
  },
});
