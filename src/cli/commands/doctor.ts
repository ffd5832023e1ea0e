import { defineCommand, EXIT } from "../command.ts";
import { findingLines, type Finding } from "../email/finding.ts";
import { connectZone, nameIn, zoneOptions } from "../email/zone.ts";
import { printResult } from "../print.ts";

export const doctor = defineCommand({
  name: "doctor",
  summary: "look at everything that mail of a domain needs, and say what is missing",
  description:
    "Asks the server to look at the domain's records, its mail hosts and their ports, the certificates, and the names of the addresses that mail leaves from. It exits with 1 when something is wrong; warnings do not count.",
  arguments: [{ name: "domain", summary: "like example.com or mail.example.com", required: true }],
  options: zoneOptions,
  examples: [["reelpost doctor example.com", "each finding with what to do"]],
  async run(values, [domain], surroundings) {
    const zone = await connectZone(domain!, values, surroundings);
    // Hosts that do not answer take their time.
    const findings = await zone.api.result<Finding[]>("GET", `${zone.path}/email/doctor`, {
      query: nameIn(zone),
      timeoutMs: 120_000,
    });
    printResult(surroundings, findings, (paint) => findingLines(findings, paint));
    return findings.some(({ status }) => status === "error") ? EXIT.failed : 0;
  },
});
