import { at } from "../../api/paths.ts";
import { confirm } from "../../ask.ts";
import { defineCommand } from "../../command.ts";
import { findSendingDomain, sendingPath } from "../../email/sending.ts";
import { connectZone, zoneOptions } from "../../email/zone.ts";
import { printResult } from "../../print.ts";
import { yesOption } from "../../shared-options.ts";

export const emailSendingDisable = defineCommand({
  name: "email sending disable",
  summary: "disable Email Sending for a domain",
  arguments: [{ name: "domain", summary: "domain such as example.com or news.example.com", required: true }],
  options: { ...yesOption, ...zoneOptions },
  examples: [["reelpost email sending disable news.example.com", "deletes the records that `enable` created"]],
  async run({ yes, ...values }, [domain], surroundings) {
    const zone = await connectZone(domain!, values, surroundings);
    const { tag, name } = await findSendingDomain(zone);
    await confirm(`Disable Email Sending for ${name} and delete its records?`, yes, surroundings);
    await zone.api.result("DELETE", `${sendingPath(zone)}${at`/${tag}`}`);
    printResult(surroundings, { id: tag, deleted: true }, () => [`Email Sending is disabled for ${name}`]);
    return 0;
  },
});
