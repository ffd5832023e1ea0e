import { z } from "@hono/zod-openapi";
import type { Caller } from "../../../accounts/index.ts";
import { assetErrors, type AssetUploads } from "../../../workers/index.ts";
import { respond, route, type Call, type Route } from "../../operation.ts";
import { SCRIPT, UPLOAD_BYTES, WORKERS, WORKER_WRITE_OPTIONS, type WorkerRoutesDeps } from "./common.ts";

type UploadedAssets = Parameters<AssetUploads["store"]>[1];

const manifest = z.record(z.string(), z.object({ hash: z.string(), size: z.number().int().min(0) }));
/** Large enough for a manifest of 20,000 files with long paths. */
const MAX_MANIFEST_BYTES = 32 * 1024 * 1024;

/**
 * Routes that upload static assets: a client creates a session for a manifest, then uploads the files that the server
 * lacks. A new version uses them if `assets.jwt` in its metadata is the completion token.
 */
export const assetRoutes = ({ assets }: WorkerRoutesDeps): Route[] => [
  route(
    {
      id: "worker-script-update-create-assets-upload-session",
      method: "post",
      path: `${SCRIPT}/assets-upload-session`,
      summary: "Create Assets Upload Session",
      audit: false,
      ...WORKER_WRITE_OPTIONS,
      body: z.object({ manifest }),
      maxBytes: MAX_MANIFEST_BYTES,
      maxValues: 150_000,
      result: z.object({ jwt: z.string(), buckets: z.array(z.array(z.string())) }),
    },
    async ({ params, body }) => {
      const { token, buckets } = await assets.begin(params.account_id!, body.manifest);
      return respond({ jwt: token, buckets });
    },
  ),

  route(
    {
      id: "worker-assets-upload",
      method: "post",
      path: `${WORKERS}/assets/upload`,
      summary: "Upload Assets",
      audit: false,
      ...WORKER_WRITE_OPTIONS,
      authenticate: (secret) => callerOf(assets, secret),
      authenticationError: assetErrors.badToken,
      query: z.object({ base64: z.literal("true", { error: "only base64=true is supported" }) }),
      maxBytes: UPLOAD_BYTES,
      result: z.object({ jwt: z.string().optional() }),
    },
    async (call) => {
      const session = assets.sessionOf(bearerOf(call));
      if (session === undefined) throw assetErrors.badToken();
      const { token } = await assets.store(session, await filesOf(await call.form()));
      return token === undefined ? respond({}, { status: 202 }) : respond({ jwt: token }, { status: 201 });
    },
  ),
];

const bearerOf = ({ request }: Pick<Call, "request">) =>
  /^Bearer +(\S+)$/i.exec(request.headers.get("authorization") ?? "")?.[1] ?? "";

/** An upload token permits only uploading the files in its manifest. */
function callerOf(assets: AssetUploads, secret: string): Caller | undefined {
  const session = assets.sessionOf(secret);
  if (session === undefined) return undefined;
  const { account, manifestId } = session;
  return {
    tokenId: manifestId,
    user: { id: account, email: "" },
    accounts: [account],
    allows: (permission, on) =>
      permission === WORKER_WRITE_OPTIONS.permission && "account" in on && on.account === account,
  };
}

/**
 * Reads the uploaded files. Each part is named after the hash of its file and contains the file in base64. Throws
 * badUpload.
 */
async function filesOf(form: FormData): Promise<UploadedAssets> {
  const files: UploadedAssets[number][] = [];
  for (const [hash, part] of form) {
    const text = typeof part === "string" ? part : await part.text();
    const type = typeof part === "string" ? "" : part.type;
    if (/[^A-Za-z0-9+/=\s]/.test(text))
      throw assetErrors.badUpload({
        reason: `the part ${JSON.stringify(hash.slice(0, 80))} is not base64`,
        fix: "Encode the content of the file in base64.",
      });
    files.push({
      hash,
      // Clients send this type for files without a content type, because every form part has one.
      contentType: type === "" || type === "application/null" ? undefined : type,
      bytes: Buffer.from(text, "base64"),
    });
  }
  return files;
}
