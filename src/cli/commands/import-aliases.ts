import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { painter } from "../../kernel/paint.ts";
import { messageOf } from "../../kernel/index.ts";
import { ALIAS_FORMATS, createAliasImport, readAliases, type AliasFormat } from "../../migrate/index.ts";
import { connectToApi } from "../api/connect.ts";
import { confirm } from "../ask.ts";
import { defineCommand, type Command } from "../command.ts";
import { commandErrors } from "../errors.ts";
import { onInterrupt } from "../interrupt.ts";
import { hasWork, planJson, planLines, positionText, reportLines } from "../migrate/print-plan.ts";
import { plural, printResult } from "../print.ts";
import { serverOptions, yesOption } from "../shared-options.ts";

const SUMMARIES: Record<AliasFormat, string> = {
  postfix: "import a Postfix alias map, including regular expressions",
  forwardemail: "import the aliases of Forward Email from its CSV export",
  addy: "import the aliases of addy.io from its CSV export",
  mailcow: "import mailcow aliases from a CSV export",
};
const COLUMNS: Record<AliasFormat, string> = {
  postfix: `Reads a postmap, regexp_table or pcre_table map. Each entry is an address, @domain or /regular expression/, followed by its destinations. Rules with
regular expressions or more than one destination need the email.extended_rules setting.`,
  forwardemail: "Reads the columns name (or alias), recipients, enabled and description.",
  addy: "Reads the columns email, recipients, active and description.",
  mailcow: "Reads the columns address, goto, active and public_comment.",
};

const aliasCommand = (format: AliasFormat) =>
  defineCommand({
    name: `import ${format}`,
    summary: SUMMARIES[format],
    description: `${COLUMNS[format]}

Each entry becomes a routing rule of the zone that contains its domain; the zones must exist. Each new destination address receives a message with a
verification link. Its rules start to work when the address is verified.`,
    arguments: [{ name: "file", summary: "the alias table", required: true, complete: "file" }],
    options: {
      domain: {
        type: "string",
        placeholder: "name",
        summary: "domain for aliases and regular expressions without one",
      },
      "dry-run": { type: "boolean", summary: "print the plan and change nothing" },
      overwrite: { type: "boolean", summary: "replace existing rules for the same addresses" },
      "keep-verified": {
        type: "boolean",
        summary: "create destination addresses as verified; use it only if their owners have agreed to receive mail",
      },
      ...yesOption,
      ...serverOptions,
    },
    examples: [
      [
        `reelpost import ${format} ${format === "postfix" ? "/etc/postfix/virtual" : "aliases.csv"} --dry-run`,
        "prints the plan",
      ],
    ],
    async run(values, [file], context) {
      const text = await readFile(resolve(context.cwd, file!), "utf8").catch((cause: unknown) => {
        throw commandErrors.fileUnreadable({ file, reason: messageOf(cause) }, { cause });
      });
      const interrupt = onInterrupt();
      try {
        const { api, account, progress } = await connectToApi(values, context);
        const aliasImport = createAliasImport({
          target: { api, account },
          table: readAliases(text, { format, ...(values.domain !== undefined && { domain: values.domain }) }),
          domain: values.domain,
          overwrite: values.overwrite ?? false,
          keepVerified: values["keep-verified"] ?? false,
          clock: context.clock,
          signal: interrupt.signal,
        });
        const plan = await aliasImport.plan();
        if (!context.json) for (const line of planLines(plan, painter(context.stdout))) context.stdout.line(line);
        if (values["dry-run"] === true || !hasWork(plan)) {
          printResult(context, planJson(plan), () => (hasWork(plan) ? [] : ["", "Nothing to do."]));
          return 0;
        }
        const count = plan.items.filter(({ apply }) => apply !== undefined).length;
        await confirm(`Import ${plural(count, "item")} into account ${account} on ${api.url}?`, values.yes, context);
        const report = await aliasImport.apply(plan, (position) => progress.step(positionText(position)));
        progress.clear();
        printResult(context, { ...planJson(plan), report }, (paint) => ["", ...reportLines(report, paint)]);
        return report.failed.length > 0 ? 1 : 0;
      } finally {
        interrupt.release();
      }
    },
  });

export const aliasImportCommands: readonly Command[] = ALIAS_FORMATS.map(aliasCommand);
