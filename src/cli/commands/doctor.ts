import { defineCommand, EXIT } from "../command.ts";
import { findingLines, type ApiFinding } from "../email/finding.ts";
import { connectZone, nameIn, zoneOptions } from "../email/zone.ts";
import { printResult } from "../print.ts";

export const doctor = defineCommand({
  name: "doctor",
  summary: "check everything that a domain needs for mail",
  description:
    "Checks the domain's records, its mail hosts and their ports, certificates, and the reverse DNS of the sending addresses. Exits with 1 if there is an error; warnings do not count.",
  arguments: [{ name: "domain", summary: "domain such as example.com or mail.example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost doctor example.com", "findings with fixes"]],
  async run(values, [domain], context) {
    const zone = await connectZone(domain!, values, context);
    // Unresponsive hosts make the checks slow.
    const findings = await zone.api.result<ApiFinding[]>("GET", `${zone.path}/email/doctor`, {
      query: nameIn(zone),
      timeoutMs: 120_000,
    });
    printResult(context, findings, (paint) => findingLines(findings, paint));
    return findings.some(({ status }) => status === "error") ? EXIT.failed : 0;
  },
});
