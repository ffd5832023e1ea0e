import { workerErrors } from "../errors.ts";
import { findDeployments } from "./deployments-table.ts";
import type { ScriptSettings } from "./port.ts";
import { findScript, type Tables } from "./scripts-table.ts";
import { findVersions } from "./versions-table.ts";

/** Throws for the first tail worker that does not exist in the account or whose live versions have no tail handler. */
export async function checkTailConsumers(
  tables: Tables,
  { account, name: script }: { account: string; name: string },
  consumers: ScriptSettings["tailConsumers"] = [],
): Promise<void> {
  for (const { service } of consumers) {
    if (service === script) throw workerErrors.tailConsumerSelf({ script });
    const consumer = await findScript(tables, account, service);
    if (consumer === undefined) throw workerErrors.tailConsumerMissing({ target: service });
    const liveDeploymentId = consumer.liveDeploymentId ?? "";
    const liveVersions = (await findDeployments(tables, [liveDeploymentId])).get(liveDeploymentId)?.versions ?? [];
    const versions = await findVersions(
      tables,
      liveVersions.map(({ versionId }) => versionId),
    );
    if (![...versions.values()].some(({ handlers }) => handlers.includes("tail")))
      throw workerErrors.tailHandlerMissing({ target: service });
  }
}
