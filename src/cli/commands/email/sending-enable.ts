import { defineCommand } from "../../command.ts";
import { sendingLines, sendingPath, type SendingDomain } from "../../email/sending.ts";
import { connectZone, zoneOptions } from "../../email/zone.ts";
import { printResult } from "../../print.ts";

export const emailSendingEnable = defineCommand({
  name: "email sending enable",
  summary: "enable Email Sending for a domain or a subdomain",
  arguments: [{ name: "domain", summary: "domain such as example.com or news.example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email sending enable example.com", "creates its records: bounces, SPF, DKIM, DMARC"]],
  async run(values, [domain], surroundings) {
    const zone = await connectZone(domain!, values, surroundings);
    const made = await zone.api.result<SendingDomain>("POST", sendingPath(zone), { json: { name: zone.domain } });
    printResult(surroundings, made, (paint) => sendingLines(made, paint));
    return 0;
  },
});
