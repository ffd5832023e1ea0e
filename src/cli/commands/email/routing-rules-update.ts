import { defineCommand } from "../../command.ts";
import { ruleLines } from "../../email/routing.ts";
import { CATCH_ALL, ruleBody, ruleOptions } from "../../email/rule-body.ts";
import { readRule, rulePath } from "../../email/rule.ts";
import { connectZone, zoneOptions } from "../../email/zone.ts";
import { printResult } from "../../print.ts";

export const emailRoutingRulesUpdate = defineCommand({
  name: "email routing rules update",
  summary: "update a routing rule; omitted options keep their values",
  arguments: [
    { name: "domain", summary: "domain such as example.com", required: true },
    { name: "rule", summary: "id of the rule, or catch-all", required: true },
  ],
  options: { ...ruleOptions, ...zoneOptions },
  examples: [
    [
      "reelpost email routing rules update example.com catch-all --action-type worker --action-value inbox --enabled true",
      "all other addresses to a worker",
    ],
  ],
  async run(values, [domain, name], surroundings) {
    const { api, path } = await connectZone(domain!, values, surroundings);
    const place = rulePath(path, name!);
    const body = ruleBody(values, await readRule(api, place));
    const json = name === CATCH_ALL ? { ...body, matchers: [{ type: "all" }] } : body;
    await api.result("PUT", place, { json });
    const rule = await readRule(api, place);
    printResult(surroundings, rule, (paint) => ruleLines(rule, paint));
    return 0;
  },
});
