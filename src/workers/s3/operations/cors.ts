import type { R2Bucket } from "../../bindings/r2/index.ts";
import { bucketSettingsErrors, corsMethods, type CorsRule } from "../../bucket-settings/index.ts";
import { toBucketRef, type S3Response, type S3RequestContext, type S3Deps } from "../request-context.ts";
import { s3Errors } from "../errors.ts";
import { parseXml, xmlDocument, type Element, type XmlNode } from "../xml.ts";

const MAX_XML_BYTES = 64 * 1024;

export async function getCors(_: S3RequestContext, { settings }: S3Deps, bucket: R2Bucket): Promise<S3Response> {
  const { cors } = await settings.get(bucket.id);
  if (cors === undefined) throw bucketSettingsErrors.noCors();
  const elements = (name: string, values: readonly string[] = []) => values.map((value): Element => [name, value]);
  return {
    status: 200,
    body: xmlDocument(
      "CORSConfiguration",
      cors.map(({ id, allowed, exposeHeaders, maxAgeSeconds }): Element => [
        "CORSRule",
        [
          id === undefined ? undefined : ["ID", id],
          ...elements("AllowedOrigin", allowed.origins),
          ...elements("AllowedMethod", allowed.methods),
          ...elements("AllowedHeader", allowed.headers),
          ...elements("ExposeHeader", exposeHeaders),
          maxAgeSeconds === undefined ? undefined : ["MaxAgeSeconds", maxAgeSeconds],
        ],
      ]),
    ),
  };
}

export async function putCors(context: S3RequestContext, { settings }: S3Deps, bucket: R2Bucket): Promise<S3Response> {
  const document = parseXml(await context.collectBody(MAX_XML_BYTES), "CORSConfiguration");
  await settings.setCors(toBucketRef(context, bucket), document.children("CORSRule").map(corsRuleOf));
  return { status: 200 };
}

export async function deleteCors(
  context: S3RequestContext,
  { settings }: S3Deps,
  bucket: R2Bucket,
): Promise<S3Response> {
  await settings.setCors(toBucketRef(context, bucket), undefined);
  return { status: 204 };
}

function corsRuleOf(rule: XmlNode): CorsRule {
  const id = rule.text("ID");
  const maxAge = rule.text("MaxAgeSeconds")?.trim();
  if (maxAge !== undefined && !/^\d{1,9}$/.test(maxAge))
    throw s3Errors.malformedXml({ why: "MaxAgeSeconds must be a number of seconds" });
  const headers = rule.texts("AllowedHeader").map((text) => text.trim());
  const exposedHeaders = rule.texts("ExposeHeader").map((text) => text.trim());
  return {
    ...(id !== undefined && id !== "" && { id }),
    allowed: {
      origins: rule.texts("AllowedOrigin").map((text) => text.trim()),
      methods: rule.texts("AllowedMethod").map((text) => {
        const method = corsMethods.find((corsMethod) => corsMethod === text.trim());
        if (method === undefined)
          throw s3Errors.malformedXml({ why: `AllowedMethod must be one of ${corsMethods.join(", ")}` });
        return method;
      }),
      ...(headers.length > 0 && { headers }),
    },
    ...(exposedHeaders.length > 0 && { exposeHeaders: exposedHeaders }),
    ...(maxAge !== undefined && { maxAgeSeconds: Number(maxAge) }),
  };
}
