import type { R2Bucket } from "../../bindings/r2/index.ts";
import { bucketSettingsErrors, corsMethods, type CorsRule } from "../../bucket-settings/index.ts";
import { refOf, type S3Answer, type S3Call, type S3Deps } from "../call.ts";
import { s3Errors } from "../errors.ts";
import { collectBody } from "../payload.ts";
import { parseXml, xmlDocument, type Element, type XmlNode } from "../xml.ts";

const MAX_XML = 64 * 1024;

export async function getCors(_: S3Call, { settings }: S3Deps, bucket: R2Bucket): Promise<S3Answer> {
  const { cors } = await settings.of(bucket.id);
  if (cors === undefined) throw bucketSettingsErrors.noCors();
  const many = (name: string, values: readonly string[] = []) => values.map((value): Element => [name, value]);
  return {
    status: 200,
    body: xmlDocument(
      "CORSConfiguration",
      cors.map(({ id, allowed, exposeHeaders, maxAgeSeconds }): Element => [
        "CORSRule",
        [
          id === undefined ? undefined : ["ID", id],
          ...many("AllowedOrigin", allowed.origins),
          ...many("AllowedMethod", allowed.methods),
          ...many("AllowedHeader", allowed.headers),
          ...many("ExposeHeader", exposeHeaders),
          maxAgeSeconds === undefined ? undefined : ["MaxAgeSeconds", maxAgeSeconds],
        ],
      ]),
    ),
  };
}

export async function putCors(call: S3Call, { settings }: S3Deps, bucket: R2Bucket): Promise<S3Answer> {
  const document = parseXml(await collectBody(call.body(), MAX_XML), "CORSConfiguration");
  await settings.setCors(refOf(call, bucket), document.children("CORSRule").map(ruleOf));
  return { status: 200 };
}

export async function deleteCors(call: S3Call, { settings }: S3Deps, bucket: R2Bucket): Promise<S3Answer> {
  await settings.setCors(refOf(call, bucket), undefined);
  return { status: 204 };
}

function ruleOf(rule: XmlNode): CorsRule {
  const id = rule.text("ID");
  const age = rule.text("MaxAgeSeconds")?.trim();
  if (age !== undefined && !/^\d{1,9}$/.test(age))
    throw s3Errors.malformedXml({ why: "MaxAgeSeconds must be a number of seconds" });
  const headers = rule.texts("AllowedHeader").map((text) => text.trim());
  const exposed = rule.texts("ExposeHeader").map((text) => text.trim());
  return {
    ...(id !== undefined && id !== "" && { id }),
    allowed: {
      origins: rule.texts("AllowedOrigin").map((text) => text.trim()),
      methods: rule.texts("AllowedMethod").map((text) => {
        const method = corsMethods.find((each) => each === text.trim());
        if (method === undefined)
          throw s3Errors.malformedXml({ why: `AllowedMethod must be one of ${corsMethods.join(", ")}` });
        return method;
      }),
      ...(headers.length > 0 && { headers }),
    },
    ...(exposed.length > 0 && { exposeHeaders: exposed }),
    ...(age !== undefined && { maxAgeSeconds: Number(age) }),
  };
}
