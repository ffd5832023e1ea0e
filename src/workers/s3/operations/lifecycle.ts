import type { R2Bucket } from "../../bindings/r2/index.ts";
import { defaultLifecycle, type LifecycleRule } from "../../bucket-settings/index.ts";
import { toBucketRef, type S3Response, type S3RequestContext, type S3Deps } from "../request-context.ts";
import { s3Errors } from "../errors.ts";
import { parseXml, xmlDocument, type Element, type XmlNode } from "../xml.ts";

const MAX_XML_BYTES = 1024 * 1024;
const DAY_SECONDS = 86_400;
/** Elements of a rule that R2 does not support. */
const UNSUPPORTED_ELEMENTS = ["NoncurrentVersionExpiration", "NoncurrentVersionTransition"];

type Condition = NonNullable<LifecycleRule["deleteObjectsTransition"]>["condition"];

export async function getLifecycle(_: S3RequestContext, { settings }: S3Deps, bucket: R2Bucket): Promise<S3Response> {
  const { lifecycle = defaultLifecycle } = await settings.get(bucket.id);
  if (lifecycle.length === 0) throw s3Errors.noLifecycle();
  return { status: 200, body: xmlDocument("LifecycleConfiguration", lifecycle.map(ruleElement)) };
}

export async function putLifecycle(
  context: S3RequestContext,
  { settings }: S3Deps,
  bucket: R2Bucket,
): Promise<S3Response> {
  const document = parseXml(await context.collectBody(MAX_XML_BYTES), "LifecycleConfiguration");
  const rules = document.children("Rule");
  if (rules.length === 0) throw s3Errors.malformedXml({ why: "at least one Rule is required" });
  await settings.setLifecycle(toBucketRef(context, bucket), rules.map(lifecycleRuleOf));
  return { status: 200 };
}

export async function deleteLifecycle(
  context: S3RequestContext,
  { settings }: S3Deps,
  bucket: R2Bucket,
): Promise<S3Response> {
  await settings.setLifecycle(toBucketRef(context, bucket), []);
  return { status: 204 };
}

function ruleElement(rule: LifecycleRule): Element {
  const { id, enabled, conditions, deleteObjectsTransition: deletion, abortMultipartUploadsTransition: abort } = rule;
  return [
    "Rule",
    [
      ["ID", id],
      ["Filter", [["Prefix", conditions.prefix]]],
      ["Status", enabled ? "Enabled" : "Disabled"],
      deletion && ["Expiration", [conditionElement(deletion.condition)]],
      ...(rule.storageClassTransitions ?? []).map(({ condition }): Element => [
        "Transition",
        [conditionElement(condition), ["StorageClass", "STANDARD_IA"]],
      ]),
      abort && ["AbortIncompleteMultipartUpload", [["DaysAfterInitiation", secondsToDays(abort.condition.maxAge)]]],
    ],
  ];
}

const secondsToDays = (seconds: number) => Math.ceil(seconds / DAY_SECONDS);
const conditionElement = (condition: Condition): Element =>
  condition.type === "Age"
    ? ["Days", secondsToDays(condition.maxAge)]
    : ["Date", new Date(condition.date).toISOString()];

function lifecycleRuleOf(rule: XmlNode, index: number): LifecycleRule {
  const unsupportedElement = UNSUPPORTED_ELEMENTS.find((name) => rule.has(name));
  if (unsupportedElement !== undefined)
    throw s3Errors.notImplemented({ feature: `${unsupportedElement} in a lifecycle rule` });
  const status = rule.text("Status")?.trim();
  if (status !== "Enabled" && status !== "Disabled")
    throw s3Errors.malformedXml({ why: "Status must be Enabled or Disabled" });
  const expiration = rule.child("Expiration");
  const abort = rule.child("AbortIncompleteMultipartUpload");
  const transitions = rule.children("Transition");
  return {
    id: rule.text("ID")?.trim() || `rule-${index + 1}`,
    enabled: status === "Enabled",
    conditions: { prefix: prefixOf(rule) },
    ...(expiration && { deleteObjectsTransition: { condition: conditionOf(expiration) } }),
    ...(abort && {
      abortMultipartUploadsTransition: {
        condition: {
          type: "Age" as const,
          maxAge: parseDaysAsSeconds(abort.text("DaysAfterInitiation"), "DaysAfterInitiation"),
        },
      },
    }),
    ...(transitions.length > 0 && {
      storageClassTransitions: transitions.map((transition) => {
        if (transition.text("StorageClass")?.trim() !== "STANDARD_IA")
          throw s3Errors.malformedXml({ why: "the StorageClass of a Transition must be STANDARD_IA" });
        return { condition: conditionOf(transition), storageClass: "InfrequentAccess" as const };
      }),
    }),
  };
}

function prefixOf(rule: XmlNode): string {
  const filter = rule.child("Filter");
  const andElement = filter?.child("And");
  for (const node of [filter, andElement])
    for (const name of ["Tag", "ObjectSizeGreaterThan", "ObjectSizeLessThan"])
      if (node?.has(name)) throw s3Errors.notImplemented({ feature: `${name} in the filter of a lifecycle rule` });
  return filter?.text("Prefix") ?? andElement?.text("Prefix") ?? rule.text("Prefix") ?? "";
}

function conditionOf(node: XmlNode): Condition {
  if (node.has("ExpiredObjectDeleteMarker"))
    throw s3Errors.notImplemented({ feature: "ExpiredObjectDeleteMarker in a lifecycle rule" });
  const date = node.text("Date")?.trim();
  if (date === undefined) return { type: "Age", maxAge: parseDaysAsSeconds(node.text("Days"), "Days") };
  if (Number.isNaN(Date.parse(date))) throw s3Errors.malformedXml({ why: "Date must be in ISO 8601" });
  return { type: "Date", date: new Date(date).toISOString() };
}

function parseDaysAsSeconds(text: string | undefined, name: string): number {
  const days = /^\s*\d{1,6}\s*$/.test(text ?? "") ? Number(text) : 0;
  if (days < 1) throw s3Errors.malformedXml({ why: `${name} must be a whole number of days from 1` });
  return days * DAY_SECONDS;
}
