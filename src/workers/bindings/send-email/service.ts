import { UserError, type Log } from "../../../kernel/index.ts";
import type { MailBuilderFields, SendEmailPort } from "../../ports.ts";
import { readJsonBody, sendBindingError, sendJson } from "../http.ts";
import type { BindingServices } from "../service.ts";

/** 25 MiB of attachments in base64 and JSON, plus some overhead; the mail module enforces the exact limits. */
const MAX_MESSAGE_BYTES = 36 * 1024 * 1024;

/** Creates the server side of `env.X.send()`: passes the worker's message to the mail module. */
export function createSendEmailService({ port, log }: { port: SendEmailPort; log: Log }): BindingServices["sendEmail"] {
  return {
    async handle(request, response, { script, binding }) {
      const { pathname, searchParams } = new URL(request.url ?? "/", "http://send-email");
      const caller = { script: script.name, binding, ...(script.account !== undefined && { account: script.account }) };
      try {
        const result =
          pathname === "/raw"
            ? await port.sendRaw(caller, {
                from: searchParams.get("from") ?? "",
                to: searchParams.get("to"),
                raw: request,
              })
            : await port.sendBuilt(caller, (await readJsonBody(request, MAX_MESSAGE_BYTES)) as MailBuilderFields);
        sendJson(response, 200, result);
      } catch (err) {
        if (!(err instanceof UserError))
          log.error({ err, script: script.name, binding: binding.name }, "send_email: failed to send a message");
        await sendBindingError(request, response, err);
      }
    },
  };
}
