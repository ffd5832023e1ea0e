import type { AuditEvent, AuditLog, Resource } from "../accounts/index.ts";
import { UserError } from "../kernel/index.ts";
import { API_BASE } from "./base.ts";
import type { OperationResponse, Call, Operation, Route } from "./operation.ts";
import { redact, secretNamesOf, type SecretNames } from "./secret-fields.ts";

export interface ChangeRecorderDeps {
  routes: readonly Route[];
  audit: Pick<AuditLog, "record">;
  /** Resolves with the name of a zone. Default: unknown. */
  zoneName?(id: string): Promise<string | undefined>;
}

/**
 * Call the recorder before the operation runs: it reads the value to be changed. Then call the returned function with
 * the response: its promise resolves when the change is recorded. Neither ever fails.
 */
type ChangeRecorder = (
  call: Call,
  origin: ChangeOrigin,
) => Promise<(response: OperationResponse | Response) => Promise<void>>;

interface ChangeOrigin {
  resource: Resource;
  ip: string | undefined;
}

/**
 * Returns a function that creates the recorder of an operation; undefined for operations that are not recorded: reads,
 * and those that declare `audit: false`.
 */
export function createChangeRecorders({
  routes,
  audit,
  zoneName = async () => undefined,
}: ChangeRecorderDeps): (operation: Operation) => ChangeRecorder | undefined {
  const readers = new Map(
    routes.filter(({ operation }) => operation.method === "get").map((route) => [route.operation.path, route]),
  );

  return (operation) => {
    const { method, audit: declared = {} } = operation;
    if (method === "get" || declared === false) return undefined;
    const reader = declared.before === false ? undefined : readerOf(operation, readers.get(operation.path));
    // Derived at the first change: most operations are never called.
    let secretNames: SecretNames | undefined;
    const hidden = () =>
      (secretNames ??= union(secretNamesOf(operation.result), secretNamesOf(reader?.operation.result)));

    return async (call, { resource, ip }) => {
      const before = reader && (await readBefore(reader, call));
      const zone =
        "zone" in resource
          ? { id: resource.zone, name: await zoneName(resource.zone).catch(() => undefined) }
          : undefined;

      return async (response) => {
        if (response instanceof Response && response.status >= 400) return;
        const after = response instanceof Response ? undefined : response.result;
        const values = { before, after };
        const account = accountOf(operation, values, resource);
        await audit.record({
          actor: call.caller.user,
          interface: call.caller.sessionId === undefined ? "API" : "dashboard",
          credential: call.caller.tokenId,
          ip,
          userAgent: call.node.incoming.headers["user-agent"],
          request: {
            id: call.id,
            method: method.toUpperCase(),
            path: pathOf(call.node.incoming.url),
            params: call.params,
          },
          operation: operation.id,
          summary: operation.summary,
          action: actionOf(operation, call.params, values, reader !== undefined),
          account,
          zone,
          resource: resourceOf(operation.path, call.params, after),
          before: redact(before, hidden()),
          // The response to a deletion only confirms it.
          after: method === "delete" ? undefined : redact(after ?? undefined, hidden()),
        } satisfies AuditEvent);
      };
    };
  };
}

interface Values {
  before: unknown;
  after: unknown;
}

/**
 * Returns the operation that reads the value that another operation changes. A POST to a list adds to it, so the list
 * itself does not matter.
 */
function readerOf({ method }: Operation, reader: Route | undefined): Route | undefined {
  if (reader?.operation.result === undefined || reader.operation.raw !== undefined) return undefined;
  const isList = reader.operation.query !== undefined && "page" in (shapeOf(reader.operation.query) ?? {});
  const isArray = (reader.operation.result as { type?: string }).type === "array";
  return method === "post" && (isList || isArray) ? undefined : reader;
}

const shapeOf = (schema: object): object | undefined => (schema as { shape?: object }).shape;

/** Resolves with the value before the change; undefined if there is nothing to read yet. */
async function readBefore({ operation, handle }: Route, call: Call): Promise<unknown> {
  const query = operation.query?.safeParse({});
  if (query?.success === false) return undefined;
  try {
    // The prototype has the getters of the call, which create the log and the request only if they are used.
    const response = await handle(Object.assign(Object.create(call) as Call, { query: query?.data, body: undefined }));
    if (!(response instanceof Response)) return response.result ?? undefined;
    await response.body?.cancel();
  } catch (err) {
    if (!(err instanceof UserError) || err.entry.http >= 500)
      call.log.warn({ err }, "audit: failed to read the value before a change");
  }
  return undefined;
}

const union = (first: SecretNames, second: SecretNames): SecretNames =>
  first === "all" || second === "all" ? "all" : new Set([...first, ...second]);

function accountOf({ audit = {} }: Operation, values: Values, resource: Resource): string | undefined {
  if (audit !== false && audit.account !== undefined) return audit.account(values);
  return "account" in resource ? resource.account : undefined;
}

function actionOf(
  { method, path }: Operation,
  params: Record<string, string>,
  { before, after }: Values,
  isReadable: boolean,
): string {
  if (method === "delete") return "delete";
  if (method === "post") return newIdOf(path, params, after) === undefined ? "update" : "create";
  return method === "put" && isReadable && before === undefined ? "create" : "update";
}

/**
 * Returns the changed resource: for `/zones/{zone_id}/dns_records/{id}`, the DNS record in the path; for
 * `/zones/{zone_id}/dns_records`, the one in the response.
 */
function resourceOf(path: string, params: Record<string, string>, after: unknown): AuditEvent["resource"] {
  const segments = path.split("/").filter((segment) => segment !== "");
  const lastWord = segments.findLast((segment) => !segment.startsWith("{")) ?? "";
  const newId = newIdOf(path, params, after);
  if (newId !== undefined) return { type: lastWord, id: newId };
  const position = segments.findLastIndex(
    (segment, i) => segment.startsWith("{") && (i === segments.length - 1 || !OWNERS.has(segment)),
  );
  if (position < 0) return { type: lastWord };
  const name = segments[position]!.slice(1, -1).replace("+", "");
  return { type: segments[position - 1] ?? "", id: params[name] };
}

/**
 * Returns the id in the response to an operation on a list; undefined for `/live_inputs/{id}/rotate_keys`, which
 * returns the id in its path.
 */
function newIdOf(path: string, params: Record<string, string>, after: unknown): string | undefined {
  const id = path.endsWith("}") ? undefined : idOf(after);
  return id === undefined || Object.values(params).includes(id) ? undefined : id;
}

const OWNERS = new Set(["{account_id}", "{zone_id}"]);

/** Returns the id of a new resource, whose field has one of these names in the v4 API. */
function idOf(result: unknown): string | undefined {
  if (typeof result !== "object" || result === null) return undefined;
  for (const name of ["id", "uid", "uuid", "queue_id", "name"]) {
    const value = (result as Record<string, unknown>)[name];
    if (typeof value === "string" && value !== "") return value;
  }
  return undefined;
}

/** Returns the path without the query, which may contain values. */
const pathOf = (url: string | undefined): string => (url ?? "").split("?")[0]!.replace(API_BASE, "");
