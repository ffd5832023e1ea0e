import { queryOptions } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import type { Schema } from "./schema.ts";

const METHODS = ["get", "post", "put", "patch", "delete"] as const;
export type Method = (typeof METHODS)[number];

export interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  schema?: Schema;
}

/** An operation of the OpenAPI document. */
export interface Operation {
  id: string;
  method: Method;
  /** Below the base path: `/accounts/{account_id}/tokens`. */
  path: string;
  summary: string;
  tag: string;
  /** Permission group that a token needs, if any. */
  permission: string | undefined;
  parameters: Parameter[];
  /** Schema of the JSON body; undefined if there is none, or another kind of body. */
  body: Schema | undefined;
  isBodyRequired: boolean;
  /** Media type of the successful response. */
  responseType: string;
  /** Schema of the response's `result`, or of the whole response. */
  result: Schema | undefined;
}

interface Content {
  content?: Record<string, { schema?: Schema }>;
}

interface OperationObject {
  operationId: string;
  summary?: string;
  tags?: string[];
  "x-api-token-group"?: string[];
  parameters?: Parameter[];
  requestBody?: Content & { required?: boolean };
  responses: Record<string, Content>;
}

interface ApiDocument {
  paths: Record<string, Partial<Record<Method, OperationObject>>>;
}

export const operationsQuery = queryOptions({
  queryKey: ["openapi"],
  queryFn: async ({ signal }) => {
    const response = await api.raw("GET", "/openapi.json", { signal });
    return operationsOf((await response.json()) as ApiDocument);
  },
  staleTime: Infinity,
});

function operationsOf({ paths }: ApiDocument): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    METHODS.flatMap((method) => {
      const operation = methods[method];
      return operation === undefined ? [] : [operationOf(method, path, operation)];
    }),
  );
}

function operationOf(method: Method, path: string, operation: OperationObject): Operation {
  const success = Object.entries(operation.responses).find(([status]) => status.startsWith("2"))?.[1].content ?? {};
  const [responseType = "", { schema } = {}] = Object.entries(success)[0] ?? [];
  return {
    id: operation.operationId,
    method,
    path,
    summary: operation.summary ?? "",
    tag: operation.tags?.[0] ?? "Other",
    permission: operation["x-api-token-group"]?.[0],
    parameters: operation.parameters ?? [],
    body: operation.requestBody?.content?.["application/json"]?.schema,
    isBodyRequired: operation.requestBody?.required === true,
    responseType,
    result: schema?.properties?.["result"] ?? schema,
  };
}

/** Operations by tag that contain every word of the filter, in alphabetical order of the tags. */
export function groupsOf(operations: readonly Operation[], filter: string): [tag: string, operations: Operation[]][] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const groups = new Map<string, Operation[]>();
  for (const operation of operations) {
    const { tag, method, path, summary } = operation;
    const text = `${tag} ${method} ${path} ${summary}`.toLowerCase();
    if (words.every((word) => text.includes(word))) groups.set(tag, [...(groups.get(tag) ?? []), operation]);
  }
  return [...groups].sort(([a], [b]) => a.localeCompare(b));
}
