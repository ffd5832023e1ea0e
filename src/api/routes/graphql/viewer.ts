import type { Caller } from "../../../accounts/index.ts";
import { hiddenZones } from "../../hidden-zones.ts";
import type { Budget } from "./budget.ts";
import type { Dataset, DatasetScope } from "./dataset.ts";
import type { Field } from "./fields.ts";
import { QueryError } from "./lex.ts";

export interface Datasets {
  accounts: Record<string, Dataset>;
  zones: Record<string, Dataset>;
}

interface ViewerDeps {
  datasets: Datasets;
  /** Resolves with the account of a zone. */
  zoneAccount(zone: string): Promise<string | undefined>;
  budget: Budget;
}

const MAX_SCOPES = 10;
const MAX_DATASETS = 20;

type Answer = Record<string, unknown>;

/** Resolves `viewer`, its accounts and zones, and their datasets. Throws QueryError. */
export async function resolveFields(
  fields: Field[],
  caller: Caller,
  { datasets, zoneAccount, budget }: ViewerDeps,
): Promise<Answer> {
  let datasetCount = 0;

  async function findAccountScope(tag: string, path: string[]): Promise<DatasetScope> {
    // To callers without access, the response must not reveal whether the zone exists.
    if (
      !Object.values(datasets.accounts).some(({ permissions }) =>
        permissions.some((permission) => caller.allows(permission, { account: tag })),
      )
    )
      throw new QueryError("not authorized for that account", path);
    return { account: tag };
  }

  async function findZoneScope(tag: string, path: string[]): Promise<DatasetScope> {
    const account = await zoneAccount(tag);
    if (
      account === undefined ||
      !Object.values(datasets.zones).some(({ permissions }) =>
        permissions.some((permission) => caller.allows(permission, { account, zone: tag })),
      )
    )
      throw new QueryError("not authorized for that zone", path);
    return { account, zone: tag };
  }

  async function resolveScopes(
    field: Field,
    tag: "accountTag" | "zoneTag",
    path: string[],
    known: Record<string, Dataset>,
    find: (tag: string, path: string[]) => Promise<DatasetScope>,
  ): Promise<Answer[]> {
    const tags = tagsOf(field, tag, path);
    return Promise.all(
      tags.map(async (scopeTag, i) =>
        resolveScope(field.fields, await find(scopeTag, path), tag, known, [...path, String(i)]),
      ),
    );
  }

  async function resolveScope(
    requestedFields: Field[],
    scope: DatasetScope,
    tag: "accountTag" | "zoneTag",
    known: Record<string, Dataset>,
    path: string[],
  ): Promise<Answer> {
    const response: Answer = {};
    for (const field of requestedFields) {
      if (field.name === tag) response[field.key] = scope.zone ?? scope.account;
      else if (field.name === "__typename") response[field.key] = tag.replace("Tag", "");
      else if (field.name === "settings") response[field.key] = resolveSettings(field, known, [...path, field.key]);
      else response[field.key] = await resolveDataset(field, scope, known, [...path, field.key]);
    }
    return response;
  }

  async function resolveDataset(
    field: Field,
    scope: DatasetScope,
    known: Record<string, Dataset>,
    path: string[],
  ): Promise<Answer[]> {
    const dataset = Object.hasOwn(known, field.name) ? known[field.name] : undefined;
    if (dataset === undefined)
      throw new QueryError(
        `there is no dataset ${field.name} on this server. Use one of: ${Object.keys(known).join(", ")}`,
        path,
      );
    const resource =
      scope.zone === undefined ? { account: scope.account } : { account: scope.account, zone: scope.zone };
    if (!dataset.permissions.some((permission) => caller.allows(permission, resource)))
      throw new QueryError(
        `not authorized for ${field.name}: the API token requires one of ${dataset.permissions.join(", ")}`,
        path,
      );
    if (++datasetCount > MAX_DATASETS)
      throw new QueryError(`the query requests more than ${MAX_DATASETS} datasets`, path);
    if (field.fields.length === 0) throw new QueryError(`${field.name} needs fields: ${field.name} { … }`, path);
    try {
      budget.check();
      const hidden = scope.zone === undefined ? hiddenZones(caller, scope.account, ...dataset.permissions) : undefined;
      return await dataset.rows(
        { ...scope, ...(hidden !== undefined && { hiddenZones: hidden }) },
        field.args,
        field.fields,
        budget,
      );
    } catch (err) {
      throw err instanceof QueryError ? new QueryError(err.message, path) : err;
    }
  }

  async function resolveViewer(requestedFields: Field[]): Promise<Answer> {
    const response: Answer = {};
    for (const field of requestedFields) {
      const path = ["viewer", field.key];
      if (field.name === "accounts")
        response[field.key] = await resolveScopes(field, "accountTag", path, datasets.accounts, findAccountScope);
      else if (field.name === "zones")
        response[field.key] = await resolveScopes(field, "zoneTag", path, datasets.zones, findZoneScope);
      else if (field.name === "__typename") response[field.key] = "viewer";
      else throw new QueryError(`unknown field "${field.name}": viewer has accounts and zones`, path);
    }
    return response;
  }

  const response: Answer = {};
  for (const field of fields) {
    if (field.name === "viewer") response[field.key] = await resolveViewer(field.fields);
    else if (field.name === "__typename") response[field.key] = "Query";
    else if (field.name.startsWith("__"))
      throw new QueryError("introspection is not supported; see /client/v4/docs", [field.key]);
    else throw new QueryError(`unknown field "${field.name}": a query must start with viewer`, [field.key]);
  }
  return response;
}

function tagsOf({ args, name }: Field, tag: string, path: string[]): string[] {
  const { filter } = args;
  const filterError = (reason: string) => new QueryError(`${name} needs filter: {${tag}: "<id>"}${reason}`, path);
  if (typeof filter !== "object" || filter === null || Array.isArray(filter)) throw filterError("");
  const filterFields = filter as Record<string, unknown>;
  for (const key in filterFields)
    if (key !== tag && key !== `${tag}_in`)
      throw new QueryError(`unknown filter "${key}" of ${name}: use ${tag} or ${tag}_in`, path);
  const tags = filterFields[tag] === undefined ? filterFields[`${tag}_in`] : [filterFields[tag]];
  if (!Array.isArray(tags) || tags.length === 0 || !tags.every((value) => typeof value === "string" && value !== ""))
    throw filterError("");
  if (tags.length > MAX_SCOPES) throw filterError(`, and no more than ${MAX_SCOPES} of them`);
  return [...new Set(tags as string[])];
}

function resolveSettings({ fields }: Field, known: Record<string, Dataset>, path: string[]): Answer {
  return Object.fromEntries(
    fields.map((field) => {
      const settings = Object.hasOwn(known, field.name) ? known[field.name]!.settings : undefined;
      if (settings === undefined) throw new QueryError(`${field.name} has no settings`, path);
      return [
        field.key,
        Object.fromEntries(
          field.fields.map(({ key, name }) => {
            if (!Object.hasOwn(settings, name))
              throw new QueryError(`unknown field "${name}": settings have ${Object.keys(settings).join(", ")}`, path);
            return [key, settings[name]];
          }),
        ),
      ];
    }),
  );
}
