import { z } from "@hono/zod-openapi";
import { objectErrors, objectLimits, type ObjectMigrations, type Upload } from "../../../workers/index.ts";

/** `migrations` of the upload metadata: the steps since the worker's tag, or the fields of one step. */

const className = z.string().min(1).max(objectLimits.classNameLength);
const classNames = z.array(className).max(objectLimits.classes).nullish();
const step = {
  new_classes: classNames,
  new_sqlite_classes: classNames,
  deleted_classes: classNames,
  renamed_classes: z
    .array(z.object({ from: className, to: className }))
    .max(objectLimits.classes)
    .nullish(),
  transferred_classes: z.array(z.object({ from: className.nullish() })).nullish(),
};
type SentStep = z.infer<z.ZodObject<typeof step>>;

const tag = z.string().max(objectLimits.migrationTagLength).nullish();
export const sentMigrations = z.object({
  old_tag: tag,
  new_tag: tag,
  steps: z.array(z.object(step)).max(objectLimits.steps).nullish(),
  ...step,
});

/** Throws transferUnsupported. */
export function migrationsPartOf(sent: z.infer<typeof sentMigrations> | null | undefined): Pick<Upload, "migrations"> {
  if (sent === undefined || sent === null) return {};
  const { old_tag, new_tag, steps, ...single } = sent;
  const all = [...(steps ?? []), single].map(readStep).filter((each) => Object.keys(each).length > 0);
  // Clients send a tag without steps for a worker that never had Durable Objects.
  if (all.length === 0 && !old_tag && !new_tag) return {};
  const migrations: ObjectMigrations = {
    steps: all,
    ...(old_tag && { oldTag: old_tag }),
    ...(new_tag && { newTag: new_tag }),
  };
  return { migrations };
}

function readStep({ transferred_classes, ...fields }: SentStep): ObjectMigrations["steps"][number] {
  const transferred = transferred_classes?.[0];
  if (transferred !== undefined) throw objectErrors.transferUnsupported({ className: transferred.from ?? "" });
  return Object.fromEntries(Object.entries(fields).filter(([, list]) => Array.isArray(list) && list.length > 0));
}
