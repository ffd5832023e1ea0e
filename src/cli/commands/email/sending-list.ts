import { collect, pagesOf } from "../../api/lists.ts";
import { connect } from "../../api/connect.ts";
import { at } from "../../api/paths.ts";
import { defineCommand } from "../../command.ts";
import { yesNo } from "../../email/routing.ts";
import { sendingPath, type SendingDomain } from "../../email/sending.ts";
import { connectZone, zoneOptions } from "../../email/zone.ts";
import { moment, printResult, table } from "../../print.ts";

export const emailSendingList = defineCommand({
  name: "email sending list",
  summary: "list sending domains",
  arguments: [{ name: "domain", summary: "only domains in this zone" }],
  options: zoneOptions,
  examples: [["reelpost email sending list", "in the whole account"]],
  async run(values, [domain], surroundings) {
    const domains = domain === undefined ? await allDomains() : await ofZone(domain);
    printResult(surroundings, domains, (paint) =>
      table(
        ["domain", "enabled", "created", "id"],
        domains.map(({ name, enabled, created, tag }) => [name, yesNo(enabled), moment(created), tag]),
        paint,
      ),
    );
    return 0;

    async function allDomains() {
      const { api, base } = await connect(values, surroundings);
      const domains: SendingDomain[] = [];
      // The zone lists its subdomains.
      for (const { tag: zone } of await collect(
        pagesOf<SendingDomain>(api, `${base}/email/sending/zones`, { perPage: 50 }),
      )) {
        domains.push(...(await api.result<SendingDomain[]>("GET", at`/zones/${zone}/email/sending/subdomains`)));
      }
      return domains;
    }
    async function ofZone(name: string) {
      const zone = await connectZone(name, values, surroundings);
      return zone.api.result<SendingDomain[]>("GET", sendingPath(zone));
    }
  },
});
