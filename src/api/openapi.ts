import { OpenAPIHono, z } from "@hono/zod-openapi";
import type { IncomingMessage } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import type { Hono } from "hono";
import { API_BASE } from "./base.ts";
import { ID_FORMATS } from "./chosen-id.ts";
import { DOCS_HEADERS, renderDocsPage } from "./docs-page.ts";
import type { Operation, Route } from "./operation.ts";

/** Version in the document for requests without credentials: the version of the API, not of the program. */
const PUBLIC_VERSION = "4";

interface DocumentOptions {
  routes: Route[];
  /** Version of the program. */
  version: string;
  /** True if the response may contain the version of the program. */
  isSignedIn(incoming: IncomingMessage): Promise<boolean>;
}

/** Serves the OpenAPI 3.1 document of the routes and a page that displays it; neither requires a token. */
export function mountDocuments(
  app: Hono<{ Bindings: HttpBindings }>,
  { routes, version, isSignedIn }: DocumentOptions,
): void {
  const documents = new Map<string, string>();
  function documentOf(shownVersion: string): string {
    let document = documents.get(shownVersion);
    if (document === undefined)
      documents.set(shownVersion, (document = JSON.stringify(openApiDocument(routes, shownVersion))));
    return document;
  }
  let page: ReturnType<typeof renderDocsPage> | undefined;
  app.get(`${API_BASE}/openapi.json`, async (context) => {
    const isKnown = await isSignedIn(context.env.incoming);
    return context.body(documentOf(isKnown ? version : PUBLIC_VERSION), 200, {
      "content-type": "application/json",
      vary: "authorization, x-auth-key",
      "access-control-allow-origin": "*",
      "x-content-type-options": "nosniff",
    });
  });
  app.get(`${API_BASE}/docs`, (context) =>
    context.html((page ??= renderDocsPage(routes.map(({ operation }) => operation))), 200, DOCS_HEADERS),
  );
}

export function openApiDocument(routes: Route[], version: string): object {
  const app = new OpenAPIHono();
  const registry = app.openAPIRegistry;
  for (const { operation } of routes) {
    registry.registerPath({
      method: operation.method,
      path: operation.path.replaceAll("+}", "}"),
      operationId: operation.id,
      summary: operation.summary,
      tags: [operation.tag],
      security: [{ api_token: [] }, { api_email: [], api_key: [] }],
      ...(operation.permission !== null && { "x-api-token-group": [operation.permission] }),
      request: {
        params: paramsOf(operation),
        ...(operation.chosenId !== undefined && { headers: chosenIdHeader(operation.chosenId) }),
        ...(operation.query !== undefined && { query: operation.query as z.ZodObject }),
        ...(operation.body !== undefined && {
          body: {
            required: operation.bodyOptional !== true,
            content: { "application/json": { schema: operation.body } },
          },
        }),
      },
      responses: {
        [operation.status ?? 200]: { description: "Success", content: contentOf(operation) },
        "4XX": { description: "Failure", content: { "application/json": { schema: failureSchema } } },
      },
    });
  }
  registry.registerComponent("securitySchemes", "api_token", { type: "http", scheme: "bearer" });
  registry.registerComponent("securitySchemes", "api_email", { type: "apiKey", in: "header", name: "X-Auth-Email" });
  registry.registerComponent("securitySchemes", "api_key", { type: "apiKey", in: "header", name: "X-Auth-Key" });
  return app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: { title: "Reelpost API", version },
    servers: [{ url: API_BASE }],
  });
}

const chosenIdHeader = (format: keyof typeof ID_FORMATS) =>
  z.object({
    "Reelpost-Id": z
      .string()
      .regex(ID_FORMATS[format])
      .optional()
      .describe("Operator only: the id for the new resource. Use this to preserve the id of an imported resource."),
  });

const paramsOf = ({ path }: Operation) =>
  z.object(Object.fromEntries([...path.matchAll(/\{(\w+)\+?\}/g)].map(([, name]) => [name!, z.string()])));

const message = z.object({ code: z.number().int(), message: z.string() });
const failureSchema = z.object({
  success: z.literal(false),
  errors: z.array(
    message.extend({ error_chain: z.array(message).optional(), source: z.object({ pointer: z.string() }).optional() }),
  ),
  messages: z.array(message),
  result: z.null(),
});

function contentOf({ raw, result }: Operation) {
  if (raw !== undefined) return { [raw]: { schema: z.string() } };
  const info = z.object({
    page: z.number().optional(),
    per_page: z.number().optional(),
    count: z.number().optional(),
    total_count: z.number().optional(),
    total_pages: z.number().optional(),
    cursor: z.string().optional(),
  });
  return {
    "application/json": {
      schema: z.object({
        success: z.literal(true),
        errors: z.array(message),
        messages: z.array(message),
        result: result ?? z.unknown(),
        result_info: info.optional(),
      }),
    },
  };
}
