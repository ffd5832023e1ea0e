import { z } from "@hono/zod-openapi";
import { objectErrors, objectLimits, type DurableObjectMigrations, type Upload } from "../../../workers/index.ts";

const className = z.string().min(1).max(objectLimits.classNameLength);
const classNames = z.array(className).max(objectLimits.classes).nullish();
const stepFields = {
  new_classes: classNames,
  new_sqlite_classes: classNames,
  deleted_classes: classNames,
  renamed_classes: z
    .array(z.object({ from: className, to: className }))
    .max(objectLimits.classes)
    .nullish(),
  transferred_classes: z.array(z.object({ from: className.nullish() })).nullish(),
};
type StepFields = z.infer<z.ZodObject<typeof stepFields>>;

const migrationTag = z.string().max(objectLimits.migrationTagLength).nullish();
/** `migrations` in the upload metadata: the steps after the worker's current tag, or the fields of a single step. */
export const migrationsField = z.object({
  old_tag: migrationTag,
  new_tag: migrationTag,
  steps: z.array(z.object(stepFields)).max(objectLimits.steps).nullish(),
  ...stepFields,
});

/** Reads `migrations` in the upload metadata. Throws transferUnsupported. */
export function migrationsPartOf(
  requestMigrations: z.infer<typeof migrationsField> | null | undefined,
): Pick<Upload, "migrations"> {
  if (requestMigrations === undefined || requestMigrations === null) return {};
  const { old_tag, new_tag, steps, ...singleStep } = requestMigrations;
  const migrationSteps = [...(steps ?? []), singleStep].map(readStep).filter((each) => Object.keys(each).length > 0);
  // Clients send empty migrations for a worker that never had Durable Objects.
  if (migrationSteps.length === 0 && !old_tag && !new_tag) return {};
  const migrations: DurableObjectMigrations = {
    steps: migrationSteps,
    ...(old_tag && { oldTag: old_tag }),
    ...(new_tag && { newTag: new_tag }),
  };
  return { migrations };
}

function readStep({ transferred_classes, ...fields }: StepFields): DurableObjectMigrations["steps"][number] {
  const transferredClass = transferred_classes?.[0];
  if (transferredClass !== undefined)
    throw objectErrors.transferUnsupported({ className: transferredClass.from ?? "" });
  return Object.fromEntries(Object.entries(fields).filter(([, list]) => Array.isArray(list) && list.length > 0));
}
