import { join, resolve } from "node:path";
import type { ProjectTarget } from "../../workers/project/index.ts";
import { createApiClient } from "../api/client.ts";
import type { ApiConnection } from "../api/connect.ts";
import type { CommandContext } from "../command.ts";
import { commandErrors } from "../errors.ts";
import { createProgress } from "../progress.ts";
import type { StorageValues } from "../shared-options.ts";

/** Rejects combinations of options. Throws localOptionAlone, localWithServer. */
export function checkLocalOptions(values: StorageValues): void {
  if (values.local !== true) {
    if (values["data-dir"] !== undefined) throw commandErrors.localOptionAlone();
    return;
  }
  const option = (["url", "token", "account"] as const).find((name) => values[name] !== undefined);
  if (option !== undefined) throw commandErrors.localWithServer({ option: `--${option}` });
}

/**
 * Connects to the storage of `reelpost dev`: through the development server if it is running; otherwise this process
 * opens the storage until the command ends.
 */
export async function connectLocalStorage(
  values: StorageValues,
  { cwd, env, clock, version, stderr, atEnd }: CommandContext,
  target: Pick<ProjectTarget, "userRoot"> | undefined,
): Promise<ApiConnection> {
  const [{ openLocalStorage }, { readSettings }] = await Promise.all([
    import("../../server/index.ts"),
    import("../../kernel/settings-read.ts"),
  ]);
  const { settings } = await readSettings({ cwd, env });
  const configuredDirectory =
    env.REELPOST_DATA_DIR === undefined ? join(target?.userRoot ?? cwd, ".reelpost") : settings.data_dir;
  const storage = await openLocalStorage({ dataDir: resolve(cwd, values["data-dir"] ?? configuredDirectory), clock });
  atEnd(storage.close);
  const { url, token, account } = storage;
  return {
    api: createApiClient({ url, token, version }),
    account,
    base: `/accounts/${account}`,
    progress: createProgress(stderr),
  };
}
