import { connect } from "../../api/connect.ts";
import { defineCommand } from "../../command.ts";
import { resultLines, type SendResult } from "../../email/sending.ts";
import { commandErrors } from "../../errors.ts";
import { readStdin, readTextFile } from "../../input.ts";
import { printResult } from "../../print.ts";
import { serverOptions } from "../../shared-options.ts";

const MAX_BYTES = 25 * 1024 * 1024;

export const emailSendingSendRaw = defineCommand({
  name: "email sending send-raw",
  summary: "send a complete MIME message",
  options: {
    from: { type: "string", placeholder: "address", summary: "envelope sender, an address of a sending domain" },
    to: { type: "string", placeholder: "address", multiple: true, summary: "envelope recipient" },
    mime: { type: "string", placeholder: "text", summary: "MIME message" },
    "mime-file": {
      type: "string",
      placeholder: "file",
      summary: "file with the message, or - for standard input",
      complete: "file",
    },
    ...serverOptions,
  },
  examples: [
    [
      "reelpost email sending send-raw --from me@example.com --to you@example.net --mime-file letter.eml",
      "a file saved by a mail client",
    ],
  ],
  async run(values, _, surroundings) {
    const { from, to, mime, "mime-file": file } = values;
    if (from === undefined || to.length === 0)
      throw commandErrors.badContent({
        what: from === undefined ? "--from" : "--to",
        reason: "it is required",
        fix: "Pass --from and --to.",
      });
    if ((mime === undefined) === (file === undefined))
      throw commandErrors.badContent({
        what: "the message",
        reason: "exactly one of --mime and --mime-file is required",
        fix: "Say either --mime or --mime-file",
      });
    const message =
      mime ??
      (file === "-"
        ? (await readStdin(surroundings, MAX_BYTES)).toString()
        : await readTextFile(surroundings.cwd, file!, MAX_BYTES));
    const { api, base } = await connect(values, surroundings);
    const result = await api.result<SendResult>("POST", `${base}/email/sending/send_raw`, {
      json: { from, recipients: to, mime_message: message },
      timeoutMs: 180_000,
    });
    printResult(surroundings, result, (paint) => resultLines(result, paint));
    return 0;
  },
});
