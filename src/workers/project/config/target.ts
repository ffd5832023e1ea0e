import { dirname, relative, resolve } from "node:path";
import { type Problem, checkDocument, errorsOf, parseDocument } from "../../../kernel/config/index.ts";
import { UserError } from "../../../kernel/errors.ts";
import { problemDetails, projectErrors } from "../errors.ts";
import { checkEnvironment } from "./environment.ts";
import { findConfig, readConfigText } from "./find.ts";
import { localIds } from "./local-ids.ts";
import { environmentFields, workerName } from "./read.ts";
import { configurationFields } from "./schema.ts";

/** The part of a configuration file that identifies a remote worker and its storage. Its code need not be present. */
export interface ProjectTarget {
  configFile: string;
  /** As in `Project`. */
  userRoot: string;
  name: string | undefined;
  accountId: string | undefined;
  kvNamespaces: (TargetResource & { id: string | undefined })[];
  r2Buckets: (TargetResource & { name: string | undefined })[];
  d1Databases: TargetDatabase[];
}

export interface TargetResource {
  binding: string;
  /** The id in the storage of `reelpost dev`. */
  localId: string;
  /** Possible ids in wrangler's local storage; the first one is the id that `wrangler dev` uses. */
  wranglerIds: string[];
}

export interface TargetDatabase extends TargetResource {
  name: string | undefined;
  id: string | undefined;
  /** Absolute path. */
  migrationsDir: string;
  migrationsTable: string;
}

/**
 * Reads the user's own file even if a build tool generated another one for `dev` and `deploy`, as wrangler does for the
 * same commands. Resolves with undefined if no file is specified or found. Throws UserError like `readProject` for
 * errors in the file itself.
 */
export async function readProjectTarget({
  cwd,
  config,
  environment,
}: {
  cwd: string;
  config?: string;
  environment?: string;
}): Promise<ProjectTarget | undefined> {
  const foundConfig = await findConfig(cwd, { named: config, prefer: "user" }).catch((err: unknown) => {
    if (err instanceof UserError && err.kind === "configurationMissing" && environment === undefined) return undefined;
    throw err;
  });
  if (foundConfig === undefined) return undefined;
  const { file, userRoot } = foundConfig;
  const document = parseDocument(file, await readConfigText(file));
  const checkedDocument = checkDocument(document, configurationFields);
  const problems: Problem[] = [
    ...document.problems,
    ...(document.value === undefined ? [] : [...checkedDocument.problems, ...checkEnvironment(document, environment)]),
  ];
  if (checkedDocument.value === undefined || errorsOf(problems).length > 0)
    throw projectErrors.configurationInvalid({
      file: relative(cwd, file) || file,
      ...problemDetails(errorsOf(problems), cwd),
    });

  const root = dirname(file);
  const fields = environmentFields(checkedDocument.value, environment);
  const name = workerName(checkedDocument.value, environment);
  const ids = localIds(name ?? "");
  const resource = (
    binding: string,
    kind: "namespace" | "bucket" | "database",
    preview: string | undefined,
    id: string | undefined,
  ): TargetResource => ({
    binding,
    localId: ids[kind](binding, { preview, id }),
    wranglerIds: [preview, id, binding].filter((entry) => entry !== undefined),
  });
  return {
    configFile: file,
    userRoot,
    name,
    accountId: fields.account_id,
    kvNamespaces: (fields.kv_namespaces ?? []).map(({ binding, id, preview_id: preview }) => ({
      ...resource(binding, "namespace", preview, id),
      id,
    })),
    r2Buckets: (fields.r2_buckets ?? []).map((bucket) => ({
      ...resource(bucket.binding, "bucket", bucket.preview_bucket_name, bucket.bucket_name),
      name: bucket.bucket_name,
    })),
    d1Databases: (fields.d1_databases ?? []).map((database) => ({
      ...resource(database.binding, "database", database.preview_database_id, database.database_id),
      name: database.database_name,
      id: database.database_id,
      migrationsDir: resolve(root, database.migrations_dir ?? "migrations"),
      migrationsTable: database.migrations_table ?? "d1_migrations",
    })),
  };
}
