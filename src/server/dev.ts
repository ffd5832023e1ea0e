import { createDev, openDevWorkers, prepareDataDirectory, reportSlowStop, resolveDevSettings } from "../dev/index.ts";
import { createLifecycle, randomIds, systemClock, type Basics } from "../kernel/index.ts";
import { readSettings } from "../kernel/settings-read.ts";
import { openStore } from "../store/index.ts";
import type { Bindings } from "../workers/index.ts";
import { lockDataDirectory } from "./data-lock.ts";
import { openDevDashboard } from "./dev-dashboard.ts";
import type { DevOptions, DevServer } from "./dev-options.ts";
import { createDevStorage } from "./dev-storage.ts";
import { createDevVideo } from "./dev-video.ts";
import { migrations } from "./migrations.ts";
import { withdrawStorage } from "./storage-announcement.ts";

/**
 * Starts the development server and resolves when it accepts mail and requests. A worker that fails to build is
 * reported but does not prevent the start. Rejects with UserError (an AggregateError for several configurations) if a
 * configuration is invalid, or if a port or the data directory is in use.
 */
export async function startDev(options: DevOptions): Promise<DevServer> {
  const { cwd, env = {}, configs = [], environment, watch = true, seeds = [], report, log, limits = {} } = options;
  const { clock = systemClock, ids = randomIds } = options;
  const lifecycle = createLifecycle({ log });
  const basics: Basics = { clock, ids, log, lifecycle };
  reportSlowStop(lifecycle, report);
  try {
    const workers = await openDevWorkers({ cwd, configs, environment, env, report, watch }, basics);
    const { settings } = await readSettings({ cwd, env });
    const { dataDir, ...addresses } = resolveDevSettings({ options, project: workers.defaultProject, settings, env });
    prepareDataDirectory(dataDir);
    const lock = lockDataDirectory(dataDir);
    lifecycle.onStop("lock", lock.release);
    withdrawStorage(dataDir);
    const store = await openStore(dataDir, { migrations }, basics);
    const openVideo = (serverUrl: () => string) => createDevVideo({ store, dataDir, settings, serverUrl }, basics);
    const openStorage = (bindings: Bindings) => createDevStorage({ bindings, dataDir }, basics);
    const dev = createDev(
      { workers, settings, store, dataDir, openVideo, openStorage, seeds, cwd, report, limits },
      basics,
    );
    const devListening = await dev.start(addresses);
    const dashboard = await openDevDashboard(
      {
        settings,
        env,
        options,
        serverUrl: devListening.url,
        smtp: devListening.smtp,
        report,
      },
      basics,
    );
    return {
      ...devListening,
      dashboard,
      dataDir,
      mailDir: dev.mailDir,
      get workers() {
        return workers.describe();
      },
      rebuild: workers.rebuild,
      close: () => lifecycle.stop(),
    };
  } catch (err) {
    await lifecycle.stop();
    throw err;
  }
}
