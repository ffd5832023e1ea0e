import {
  offsetOf,
  randomIds,
  silentLog,
  systemClock,
  type Clock,
  type Ids,
  type Log,
  type PageRequest,
} from "../../kernel/index.ts";
import { createKeyedQueue } from "../../kernel/keyed-queue.ts";
import type { Db, Events, ObjectStore, Secrets } from "../../store/index.ts";
import { createAssets, type Assets } from "../assets/store/assets.ts";
import { workerErrors } from "../errors.ts";
import { parseCron } from "../schedules/cron.ts";
import { planSecrets, planSettings } from "./version-changes.ts";
import { checkScriptName } from "./checks.ts";
import { removeDeployment, removeScript, removeVersion } from "./delete.ts";
import { announce, deployVersions } from "./deploy.ts";
import { findDeployments, listDeployments } from "./deployments-table.ts";
import { DEFAULT_UPLOAD_LIMITS, type UploadLimits } from "./limits.ts";
import type { LiveVersions } from "./live-versions.ts";
import { readModules } from "./module-objects.ts";
import { createModuleSweep, type ModuleSweepOptions } from "./module-sweep.ts";
import { addScript } from "./new-script.ts";
import type { ScriptsDeps } from "./deps.ts";
import type { BindingTargets, Scripts } from "./port.ts";
import type { ScriptReferences } from "./references.ts";
import { queueProducers } from "./queue-producers-table.ts";
import { listSchedules, replaceSchedules } from "./schedules-table.ts";
import { renameScript } from "./rename.ts";
import type { ScriptsTables } from "./schema.ts";
import {
  countScripts,
  findScript,
  findScriptById,
  listScripts,
  scriptReader,
  updateScript,
  type ScriptRecord,
} from "./scripts-table.ts";
import { createScriptObjects, type ScriptObjectsStore } from "../objects/script-objects.ts";
import { createSubdomains } from "./subdomains.ts";
import { subdomainReader } from "./subdomains-table.ts";
import { checkTailConsumers } from "./tail-consumers.ts";
import { planUpload } from "./upload-plan.ts";
import { createVersionBuilder } from "./version-builder.ts";
import { findVersion, listModules, listVersions } from "./versions-table.ts";
import { deploymentOf, scriptOf, scriptsOf, versionOf } from "./views.ts";

export interface ScriptsOptions {
  db: Db;
  objects: ObjectStore;
  secrets: Secrets;
  events: Events;
  /** The component that tests and runs versions. */
  live: LiveVersions;
  targets: BindingTargets;
  /** The references to workers by name outside this folder, which a rename changes. Default: none. */
  references?: readonly ScriptReferences[];
  /** Defaults to assets in the same stores. */
  assets?: Assets;
  /** By default, namespaces are stored in the same database, and objects have no storage. */
  durableObjects?: ScriptObjectsStore;
  /** The label of an account under the workers domain is initially derived from this name. */
  accountName?: (account: string) => Promise<string | undefined>;
  clock?: Clock;
  ids?: Ids;
  log?: Log;
  limits?: Partial<UploadLimits>;
}

export interface ScriptStore extends Scripts {
  /** Deletes modules that no version uses. Call it periodically. */
  sweep(options?: ModuleSweepOptions): Promise<{ orphans: number; finished: boolean }>;
}

export function createScripts(options: ScriptsOptions): ScriptStore {
  const {
    db,
    objects,
    clock = systemClock,
    ids = randomIds,
    log = silentLog,
    accountName = async () => undefined,
  } = options;
  const limits = { ...DEFAULT_UPLOAD_LIMITS, ...options.limits };
  const queue = createKeyedQueue({
    maxWaiting: limits.waitingDeploys,
    full: (limit, key) => workerErrors.tooManyDeploys({ limit, script: key.slice(key.indexOf("/") + 1) }),
  });
  const serialize: ScriptsDeps["serialize"] = (account, name, change) => queue(`${account}/${name}`, change);
  const { assets = createAssets({ ...options, clock, ids }) } = options;
  const { durableObjects = createScriptObjects({ db, ids, log, storage: undefined }) } = options;
  const { references = [] } = options;
  const parts: ScriptsDeps = { ...options, references, assets, durableObjects, clock, ids, log, limits, serialize };
  const tables = db.tables<ScriptsTables>();
  const read = scriptReader(tables);
  const buildVersion = createVersionBuilder(parts);
  const subdomains = createSubdomains({ db, accountName });
  const sweep = createModuleSweep({ db, objects, clock });

  async function requireScript(account: string, name: string): Promise<ScriptRecord> {
    const script = await read(account, name);
    if (script === undefined) throw workerErrors.scriptMissing({ script: name });
    return script;
  }

  const toView = async (record: ScriptRecord | undefined) =>
    record === undefined ? undefined : (await scriptsOf(tables, [record]))[0];
  const toRange = (page: PageRequest | undefined, totalCount: number) =>
    page === undefined ? { offset: 0, limit: totalCount } : { offset: offsetOf(page), limit: page.perPage };

  return {
    async list(account, page) {
      const total = await countScripts(tables, account);
      const records = await listScripts(tables, account, page ?? { page: 1, perPage: total }, total);
      return { items: await scriptsOf(tables, records), total };
    },
    get: async (account, name) => toView(await read(account, name)),
    async byId(account, id) {
      const record = await findScriptById(tables, id);
      return record?.account === account ? toView(record) : undefined;
    },
    async upload(account, name, upload, author) {
      checkScriptName(name);
      const uploadAnnotations = { "workers/triggered_by": "upload", ...upload.annotations };
      const versionOutcome = await buildVersion({
        account,
        name,
        uploader: author,
        create: true,
        ...(upload.settings && { settings: definedOnly(upload.settings) }),
        plan: planUpload(account, upload, parts, uploadAnnotations),
      });
      return {
        script: scriptOf(versionOutcome.script, versionOutcome.version, versionOutcome.deployment),
        version: versionOf(versionOutcome.version, name),
        deployment: deploymentOf(versionOutcome.deployment!),
      };
    },
    async create(account, name, _by, settings) {
      checkScriptName(name);
      return serialize(account, name, async () => {
        const id = ids.hex();
        const script = await db.transaction<ScriptsTables, ScriptRecord>(async (tx) => {
          await checkTailConsumers(tx, { account, name }, settings?.tailConsumers);
          const existingScript =
            (await findScript(tx, account, name)) ??
            (await addScript(tx, id, { account, name, now: clock.now(), limits }));
          if (settings === undefined) return existingScript;
          const updatedScript = { ...existingScript, ...definedOnly(settings) };
          await updateScript(tx, updatedScript);
          return updatedScript;
        });
        return (await toView(script))!;
      });
    },
    delete: (account, name) => removeScript(parts, account, name),
    async rename(account, name, to, settings = {}) {
      return (await toView(await renameScript(parts, { account, from: name, to }, definedOnly(settings))))!;
    },

    async createVersion(account, name, upload, author) {
      const versionOutcome = await buildVersion({
        account,
        name,
        uploader: author,
        create: false,
        ...(upload.settings && { settings: definedOnly(upload.settings) }),
        plan: planUpload(account, upload, parts, undefined),
      });
      return versionOf(versionOutcome.version, name);
    },
    async versions(account, name, page) {
      const { id } = await requireScript(account, name);
      const { versions, total } = await listVersions(tables, id, toRange(page, page.perPage));
      return { items: versions.map((version) => versionOf(version, name)), total };
    },
    async version(account, name, id) {
      const script = await requireScript(account, name);
      const version = await findVersion(tables, id);
      return version?.scriptId === script.id ? versionOf(version, name) : undefined;
    },
    deleteVersion: (account, name, id) => removeVersion(parts, account, name, id),
    modules: async ({ id }) => readModules(await listModules(tables, id), objects),

    async deployments(account, name, page) {
      const { id } = await requireScript(account, name);
      const { deployments, total } = await listDeployments(tables, id, toRange(page, limits.keptDeployments));
      return { items: deployments.map(deploymentOf), total };
    },
    async deployment(account, name, id) {
      const script = await requireScript(account, name);
      const foundDeployment = (await findDeployments(tables, [id])).get(id);
      return foundDeployment?.scriptId === script.id ? deploymentOf(foundDeployment) : undefined;
    },
    deleteDeployment: (account, name, id) => removeDeployment(parts, account, name, id),
    deploy: async (account, name, request, author) =>
      deploymentOf(await deployVersions(parts, account, name, request, author)),

    async changeSecrets(account, name, changes, author, { deploy = true, annotations = {} } = {}) {
      const { version } = await buildVersion({
        account,
        name,
        uploader: author,
        create: false,
        plan: planSecrets(changes, { deploy, annotations }, parts),
      });
      return versionOf(version, name);
    },
    async secrets(account, name) {
      const { latestVersionId } = await requireScript(account, name);
      const latest = latestVersionId === null ? undefined : await findVersion(tables, latestVersionId);
      return (latest?.bindings ?? []).flatMap((binding) => (binding.type === "secret_text" ? binding.name : []));
    },

    changeSettings: (account, name, change) =>
      serialize(account, name, async () => {
        const changedScript = await db.transaction<ScriptsTables, ScriptRecord>(async (tx) => {
          const script = await findScript(tx, account, name);
          if (script === undefined) throw workerErrors.scriptMissing({ script: name });
          await checkTailConsumers(tx, { account, name }, change.tailConsumers);
          const nextScript = { ...script, ...definedOnly(change), modifiedAt: clock.now() };
          await updateScript(tx, nextScript);
          return nextScript;
        });
        if (change.tailConsumers !== undefined) await announce(changedScript.id, parts);
        return (await toView(changedScript))!;
      }),
    async changeVersionSettings(account, name, change, author) {
      const { version } = await buildVersion({
        account,
        name,
        uploader: author,
        create: false,
        plan: planSettings(change, parts),
      });
      return versionOf(version, name);
    },

    subdomain: (account) => subdomains.of(account),
    changeSubdomain: (account, label) => subdomains.change(account, label),
    deleteSubdomain: (account) => subdomains.delete(account),
    bySubdomain: subdomainReader(tables),

    async changeSchedules(account, name, crons) {
      const { id } = await requireScript(account, name);
      if (crons.length > limits.cronsPerScript) throw workerErrors.tooManyCrons({ limit: limits.cronsPerScript });
      for (const [i, cron] of crons.entries()) {
        parseCron(cron);
        if (crons.indexOf(cron) < i) throw workerErrors.duplicateCron({ cron });
      }
      await db.transaction<ScriptsTables, void>((tx) => replaceSchedules(tx, { id, account }, crons, clock.now()));
      return listSchedules(tables, id);
    },
    schedules: async (account, name) => listSchedules(tables, (await requireScript(account, name)).id),
    queueProducers: (account) => queueProducers(tables, account),
    sweep,
  };
}

const definedOnly = <Values extends object>(values: Values): Values =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Values;
