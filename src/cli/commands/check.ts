import { plural, printResult } from "../print.ts";
import { createProgress } from "../progress.ts";
import { defineCommand, EXIT } from "../command.ts";
import { readServerSettings, serverDataOptions } from "../server-data.ts";

export const check = defineCommand({
  name: "check",
  summary: "compare the database of a server with its files",
  description: `Looks for missing and truncated objects that rows refer to, missing and empty segments, damaged D1 databases and Durable Objects,
and files without a row. You can run it while the server is running.

Stop the server and create a backup before you use --repair. It deletes rows whose data is lost and moves files to removed/ in the data directory.
The exit code is 1 if damage remains.`,
  options: {
    ...serverDataOptions,
    repair: { type: "boolean", summary: "repair damage where possible" },
  },
  examples: [
    ["reelpost check --data-dir /var/lib/reelpost", "checks without changing anything"],
    ["reelpost check --settings /etc/reelpost/settings.jsonc --repair", "also repairs; stop the server first"],
  ],
  async run(values, _, context) {
    const [{ checkServer }, { explain }] = await Promise.all([
      import("../../server/index.ts"),
      import("../../backup/index.ts"),
    ]);
    const progress = createProgress(context.stderr);
    const checked = await checkServer(await readServerSettings(values, context), {
      repair: values.repair === true,
      clock: context.clock,
      onProgress: ({ step, count }) => {
        if (step === "databases" || count % 1000 === 0) progress.step(`check: ${count} ${step}`);
      },
    }).finally(() => progress.clear());
    const failures = new Map(checked.repaired.map(({ finding, failure }) => [finding, failure ?? null]));
    const findings = checked.findings.map((finding) => {
      const { isDamage, effect, repair, advice } = explain(finding.kind);
      const failure = failures.get(finding);
      return {
        kind: finding.kind,
        subject: finding.subject,
        problem: finding.problem,
        damage: isDamage,
        effect,
        repair: repair ?? null,
        advice: advice ?? null,
        repaired: failure === null,
        ...(typeof failure === "string" && { repair_error: failure }),
      };
    });
    const damage = findings.filter((finding) => finding.damage && !finding.repaired).length;
    printResult(
      context,
      { ok: damage === 0, objects: checked.objects, rows: checked.rows, databases: checked.databases, findings },
      (paint) => [
        ...findings.flatMap((finding) => [
          `${finding.damage ? paint("red", "damage") : paint("yellow", "unused")}  ${finding.subject}: ${finding.problem}`,
          `        ${finding.effect}`,
          `        ${nextStep(finding)}`,
        ]),
        `${plural(checked.objects, "object")}, ${plural(checked.rows, "row")} and ${plural(checked.databases, "database")} checked: ${damage === 0 ? "no damage" : `${plural(damage, "problem")} found`}.`,
      ],
    );
    return damage === 0 ? 0 : EXIT.failed;
  },
});

interface Described {
  repaired: boolean;
  repair: string | null;
  advice: string | null;
  repair_error?: string;
}

function nextStep({ repaired, repair, advice, repair_error: error }: Described): string {
  if (repaired) return `Repaired: ${repair}.`;
  if (error !== undefined) return `Not repaired: ${error}. ${advice ?? ""}`.trim();
  return repair === null ? advice! : `With --repair: ${repair}.`;
}
