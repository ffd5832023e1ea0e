import { confirm } from "../../ask.ts";
import { defineCommand } from "../../command.ts";
import { CATCH_ALL } from "../../email/rule-body.ts";
import { rulePath } from "../../email/rule.ts";
import { connectZone, zoneOptions } from "../../email/zone.ts";
import { commandErrors } from "../../errors.ts";
import { printResult } from "../../print.ts";
import { yesOption } from "../../shared-options.ts";

export const emailRoutingRulesDelete = defineCommand({
  name: "email routing rules delete",
  summary: "delete a routing rule",
  arguments: [
    { name: "domain", summary: "domain such as example.com", required: true },
    { name: "rule", summary: "id of the rule", required: true },
  ],
  options: { ...yesOption, ...zoneOptions },
  examples: [
    ["reelpost email routing rules delete example.com 2f1c…", "the catch-all rule then applies to its address"],
  ],
  async run({ yes, ...values }, [domain, rule], surroundings) {
    if (rule === CATCH_ALL)
      throw commandErrors.badContent({
        what: CATCH_ALL,
        reason: "every domain has this rule",
        fix: "Disable it: `reelpost email routing rules update <domain> catch-all --enabled false`",
      });
    const { api, path } = await connectZone(domain!, values, surroundings);
    await confirm(`Delete the rule ${rule!} of ${domain!}?`, yes, surroundings);
    await api.result("DELETE", rulePath(path, rule!));
    printResult(surroundings, { id: rule, deleted: true }, () => [`${rule!} is deleted`]);
    return 0;
  },
});
