import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

export const emailSendingSuppressionsCreate = defineCommand({
  name: "email sending suppressions create",
  summary: "suppress an address",
  arguments: [{ name: "email", summary: "address such as ada@example.net", required: true }],
  options: {
    days: {
      type: "number",
      placeholder: "number",
      min: 1,
      max: 3650,
      summary: "duration of the suppression",
      defaultText: "permanent",
    },
    note: { type: "string", placeholder: "text", summary: "why" },
    ...serverOptions,
  },
  examples: [["reelpost email sending suppressions create nobody@example.net --note 'asked us to'", "permanently"]],
  async run({ days, note, ...values }, [email], surroundings) {
    const { api, base } = await connect(values, surroundings);
    const until = days === undefined ? undefined : new Date(surroundings.clock.now() + days * 86_400_000).toISOString();
    const made = await api.result<{ id: string }>("POST", `${base}/email/sending/suppressions`, {
      json: { email, ...(until !== undefined && { expires_at: until }), ...(note !== undefined && { note }) },
    });
    printResult(surroundings, made, () => [`${email!} is suppressed (${made.id})`]);
    return 0;
  },
});
