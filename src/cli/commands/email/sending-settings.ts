import { defineCommand } from "../../command.ts";
import { findSendingDomain, sendingLines } from "../../email/sending.ts";
import { connectZone, zoneOptions } from "../../email/zone.ts";
import { printResult } from "../../print.ts";

export const emailSendingSettings = defineCommand({
  name: "email sending settings",
  summary: "show the Email Sending settings of a domain",
  arguments: [{ name: "domain", summary: "domain such as example.com or news.example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost email sending settings example.com", "includes DKIM selector and return path"]],
  async run(values, [domain], surroundings) {
    const found = await findSendingDomain(await connectZone(domain!, values, surroundings));
    printResult(surroundings, found, (paint) => sendingLines(found, paint));
    return 0;
  },
});
