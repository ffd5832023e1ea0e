import { workerErrors } from "../errors.ts";
import { findDeployments } from "./deployments-table.ts";
import type { ScriptSettings } from "./port.ts";
import { findScript, type Tables } from "./scripts-table.ts";
import { findVersions } from "./versions-table.ts";

/** Throws for the first tail worker that does not exist in the account or whose live version has no tail handler. */
export async function checkTailConsumers(
  tables: Tables,
  { account, name: script }: { account: string; name: string },
  consumers: ScriptSettings["tailConsumers"] = [],
): Promise<void> {
  for (const { service } of consumers) {
    if (service === script) throw workerErrors.tailConsumerSelf({ script });
    const found = await findScript(tables, account, service);
    if (found === undefined) throw workerErrors.tailConsumerMissing({ target: service });
    const live = found.liveDeploymentId ?? "";
    const deployed = (await findDeployments(tables, [live])).get(live)?.versions ?? [];
    const versions = await findVersions(
      tables,
      deployed.map(({ versionId }) => versionId),
    );
    if (![...versions.values()].some(({ handlers }) => handlers.includes("tail")))
      throw workerErrors.tailHandlerMissing({ target: service });
  }
}
