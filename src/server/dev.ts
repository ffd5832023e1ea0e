import { createDev, openDevWorkers, prepareDataDirectory, reportSlowStop, resolveDevSettings } from "../dev/index.ts";
import { createLifecycle, randomIds, systemClock, type Basics } from "../kernel/index.ts";
import { readSettings } from "../kernel/settings-read.ts";
import { openStore } from "../store/index.ts";
import { lockDataDirectory } from "./data-lock.ts";
import { openDevDashboard } from "./dev-dashboard.ts";
import type { DevOptions, DevServer } from "./dev-options.ts";
import { DEV_ACCOUNT, DEV_USER } from "./dev-account.ts";
import { createDevApi } from "./dev-api.ts";
import { createDevModules } from "./dev-modules.ts";
import { createDevVideo } from "./dev-video.ts";
import { migrations } from "./migrations.ts";
import { withdrawStorage } from "./storage-announcement.ts";

/**
 * Starts the development server and resolves when it accepts mail and requests. A worker that fails to build is
 * reported but does not prevent the start. Rejects with UserError (an AggregateError for several configurations) if a
 * configuration is invalid, or if a port or the data directory is in use.
 */
export async function startDev(options: DevOptions): Promise<DevServer> {
  const {
    cwd,
    env = {},
    configs = [],
    environment,
    watch = true,
    seeds = [],
    chaos,
    vars,
    report,
    log,
    limits = {},
  } = options;
  const { clock = systemClock, ids = randomIds } = options;
  const lifecycle = createLifecycle({ log });
  const basics: Basics = { clock, ids, log, lifecycle };
  reportSlowStop(lifecycle, report);
  try {
    const workers = await openDevWorkers({ cwd, configs, environment, env, vars, report, watch }, basics);
    const { settings } = await readSettings({ cwd, env });
    const { dataDir, ...addresses } = resolveDevSettings({ options, project: workers.defaultProject, settings, env });
    prepareDataDirectory(dataDir);
    const lock = lockDataDirectory(dataDir);
    lifecycle.onStop("lock", lock.release);
    withdrawStorage(dataDir);
    const store = await openStore(dataDir, { migrations }, basics);
    const dev = await createDev(
      {
        workers,
        settings,
        owner: { account: DEV_ACCOUNT, user: DEV_USER },
        store,
        dataDir,
        openVideo: (serverUrl, videoStore) =>
          createDevVideo({ store: videoStore, dataDir, settings, serverUrl }, basics),
        openApi({ platform, inbox, video }) {
          const modules = { ...createDevModules({ platform, inbox }, basics), video };
          return createDevApi({ bindings: platform.storage, dataDir, dev: modules }, basics);
        },
        seeds,
        cwd,
        chaos,
        report,
        limits,
      },
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
        api: { handle: dev.api.handleLocal, upgrade: dev.api.upgrade },
        report,
      },
      basics,
    );
    return {
      ...devListening,
      dashboard,
      dataDir,
      mailDir: dev.mailDir,
      api: dev.api,
      control: dev.control,
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
