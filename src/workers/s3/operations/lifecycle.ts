import type { R2Bucket } from "../../bindings/r2/index.ts";
import { defaultLifecycle, type LifecycleRule } from "../../bucket-settings/index.ts";
import { refOf, type S3Answer, type S3Call, type S3Deps } from "../call.ts";
import { s3Errors } from "../errors.ts";
import { collectBody } from "../payload.ts";
import { parseXml, xmlDocument, type Element, type XmlNode } from "../xml.ts";

const MAX_XML = 1024 * 1024;
const DAY = 86_400;
/** Elements of a rule that R2 does not have. */
const REFUSED = ["NoncurrentVersionExpiration", "NoncurrentVersionTransition"];

type Condition = NonNullable<LifecycleRule["deleteObjectsTransition"]>["condition"];

export async function getLifecycle(_: S3Call, { settings }: S3Deps, bucket: R2Bucket): Promise<S3Answer> {
  const { lifecycle = defaultLifecycle } = await settings.of(bucket.id);
  if (lifecycle.length === 0) throw s3Errors.noLifecycle();
  return { status: 200, body: xmlDocument("LifecycleConfiguration", lifecycle.map(show)) };
}

export async function putLifecycle(call: S3Call, { settings }: S3Deps, bucket: R2Bucket): Promise<S3Answer> {
  const document = parseXml(await collectBody(call.body(), MAX_XML), "LifecycleConfiguration");
  const rules = document.children("Rule");
  if (rules.length === 0) throw s3Errors.malformedXml({ why: "it has no Rule" });
  await settings.setLifecycle(refOf(call, bucket), rules.map(ruleOf));
  return { status: 200 };
}

export async function deleteLifecycle(call: S3Call, { settings }: S3Deps, bucket: R2Bucket): Promise<S3Answer> {
  await settings.setLifecycle(refOf(call, bucket), []);
  return { status: 204 };
}

function show(rule: LifecycleRule): Element {
  const { id, enabled, conditions, deleteObjectsTransition: deletion, abortMultipartUploadsTransition: abort } = rule;
  return [
    "Rule",
    [
      ["ID", id],
      ["Filter", [["Prefix", conditions.prefix]]],
      ["Status", enabled ? "Enabled" : "Disabled"],
      deletion && ["Expiration", [when(deletion.condition)]],
      ...(rule.storageClassTransitions ?? []).map(({ condition }): Element => [
        "Transition",
        [when(condition), ["StorageClass", "STANDARD_IA"]],
      ]),
      abort && ["AbortIncompleteMultipartUpload", [["DaysAfterInitiation", daysOf(abort.condition.maxAge)]]],
    ],
  ];
}

const daysOf = (seconds: number) => Math.ceil(seconds / DAY);
const when = (condition: Condition): Element =>
  condition.type === "Age" ? ["Days", daysOf(condition.maxAge)] : ["Date", new Date(condition.date).toISOString()];

function ruleOf(rule: XmlNode, index: number): LifecycleRule {
  const refused = REFUSED.find((name) => rule.has(name));
  if (refused !== undefined) throw s3Errors.notImplemented({ feature: `${refused} in a lifecycle rule` });
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
        condition: { type: "Age" as const, maxAge: daysIn(abort.text("DaysAfterInitiation"), "DaysAfterInitiation") },
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
  const and = filter?.child("And");
  for (const node of [filter, and])
    for (const name of ["Tag", "ObjectSizeGreaterThan", "ObjectSizeLessThan"])
      if (node?.has(name)) throw s3Errors.notImplemented({ feature: `${name} in the filter of a lifecycle rule` });
  return filter?.text("Prefix") ?? and?.text("Prefix") ?? rule.text("Prefix") ?? "";
}

function conditionOf(node: XmlNode): Condition {
  if (node.has("ExpiredObjectDeleteMarker"))
    throw s3Errors.notImplemented({ feature: "ExpiredObjectDeleteMarker in a lifecycle rule" });
  const date = node.text("Date")?.trim();
  if (date === undefined) return { type: "Age", maxAge: daysIn(node.text("Days"), "Days") };
  if (Number.isNaN(Date.parse(date))) throw s3Errors.malformedXml({ why: "Date must be in ISO 8601" });
  return { type: "Date", date: new Date(date).toISOString() };
}

function daysIn(text: string | undefined, name: string): number {
  const days = /^\s*\d{1,6}\s*$/.test(text ?? "") ? Number(text) : 0;
  if (days < 1) throw s3Errors.malformedXml({ why: `${name} must be a number of days` });
  return days * DAY;
}
