import { workerErrors } from "../errors.ts";
import { classifyCompatibilityDate } from "../project/config/compatibility.ts";
import type { UploadLimits } from "./limits.ts";
import type { Upload, UploadedModule } from "./port.ts";
import type { Binding } from "./script.ts";

export function checkScriptName(name: string): void {
  if (!/^[a-z0-9_][a-z0-9_-]{0,62}$/.test(name))
    throw workerErrors.badScriptName({ name: JSON.stringify(name.slice(0, 100)) });
}

/** The compatibility date of a worker that specifies none: the oldest that workerd supports. */
export const OLDEST_COMPATIBILITY_DATE = "2021-11-02";

export function checkCompatibilityDate(date: string = OLDEST_COMPATIBILITY_DATE, now: number): string {
  const refuse = (reason: string, fix: string) => workerErrors.badCompatibilityDate({ reason, fix });
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date))
    throw refuse(`"${date.slice(0, 40)}" is not a valid compatibility date.`, "Write it as YYYY-MM-DD.");
  const verdict = classifyCompatibilityDate(date, now);
  switch (verdict.kind) {
    case "good":
    // The runtime uses the newest date that it supports.
    case "newer":
      return date;
    case "no-date":
      throw refuse(`"${date}" is not a valid compatibility date.`, "It is not a valid date.");
    case "future":
      throw refuse(`Can't set compatibility date in the future: "${date}".`, `Today is ${verdict.today}, in UTC.`);
  }
}

export function checkFlags(flags: string[], limits: UploadLimits): string[] {
  const invalidFlag = flags.find((flag) => !/^[a-z0-9_]{1,100}$/.test(flag));
  if (invalidFlag !== undefined)
    throw badUpload(
      `${JSON.stringify(invalidFlag.slice(0, 100))} is not a compatibility flag`,
      "Flags consist of the characters a-z, 0-9 and _.",
    );
  if (flags.length > limits.flags)
    throw badUpload(`it has ${flags.length} compatibility flags`, `At most ${limits.flags} are allowed.`);
  return [...new Set(flags)];
}

export function checkModules(
  { main, modules, format }: Pick<Upload, "main" | "modules" | "format">,
  limits: UploadLimits,
): void {
  if (modules.length > limits.modules)
    throw badUpload(`it has ${modules.length} modules`, `At most ${limits.modules} are allowed.`);
  const seenNames = new Set<string>();
  for (const { name } of modules) {
    // oxlint-disable-next-line no-control-regex
    if (name === "" || name.length > 1000 || /[\u0000-\u001f\u007f]/.test(name))
      throw badUpload(
        `${JSON.stringify(name.slice(0, 100))} is not a valid module name`,
        "A name has 1 to 1000 characters and no control characters.",
      );
    if (seenNames.has(name)) throw badUpload(`it has two modules named "${name}"`, "Module names must be unique.");
    seenNames.add(name);
  }
  if (main === "") {
    if (modules.length > 0) throw badUpload("it has modules but no main module", "Name the main module.");
    return;
  }
  const runnableModules = modules.filter(({ kind }) => kind !== "source-map");
  const mainModule = runnableModules.find(({ name }) => name === main);
  if (mainModule === undefined)
    throw workerErrors.mainMissing({
      main,
      modules:
        runnableModules
          .slice(0, 10)
          .map(({ name }) => name)
          .join(", ") || "none was sent",
    });
  const expectedKind = format === "modules" ? "esm" : "cjs";
  if (mainModule.kind !== expectedKind && !(format === "service-worker" && mainModule.kind === "esm"))
    throw badUpload(
      `its main module "${main}" is ${mainModule.kind}, not ${format === "modules" ? "an ES module" : "a script"}`,
      `Its Content-Type must be ${format === "modules" ? "application/javascript+module" : "application/javascript"}.`,
    );
  checkSize(sizeOf(runnableModules), limits.scriptBytes);
  checkSize(sizeOf(modules.filter(({ kind }) => kind === "source-map")), limits.sourceMapBytes);
}

function checkSize(size: number, limit: number) {
  if (size > limit) throw workerErrors.scriptTooLarge({ limit: formatBytes(limit), size: formatBytes(size) });
}

/** Checks the names and number of the bindings. */
export function checkBindings(bindings: readonly { name: string }[], limits: UploadLimits): void {
  if (bindings.length > limits.bindings)
    throw badUpload(`it has ${bindings.length} bindings`, `At most ${limits.bindings} are allowed.`);
  const seenNames = new Set<string>();
  for (const [index, { name }] of bindings.entries()) {
    if (name === "") throw workerErrors.bindingUnnamed({ index });
    // oxlint-disable-next-line no-control-regex
    if (name.length > 255 || /[\u0000-\u001f\u007f]/.test(name))
      throw badUpload(
        `${JSON.stringify(name.slice(0, 100))} is not a valid binding name`,
        "A name has at most 255 characters and no control characters.",
      );
    if (seenNames.has(name)) throw workerErrors.bindingNameTaken({ name });
    seenNames.add(name);
  }
}

/** Checks only new bindings: those carried over were checked when they were set. */
export function checkTexts(bindings: readonly Binding[], limits: UploadLimits): void {
  let total = 0;
  for (const binding of bindings) {
    const size = textBytes(binding);
    if (size > limits.textBytes)
      throw workerErrors.textTooLarge({
        name: binding.name,
        size: formatBytes(size),
        limit: formatBytes(limits.textBytes),
      });
    total += size;
  }
  if (total > limits.environmentBytes)
    throw badUpload(
      `its variables and secrets have ${formatBytes(total)}`,
      `At most ${formatBytes(limits.environmentBytes)} are allowed.`,
    );
}

function textBytes(binding: Binding): number {
  if (binding.type === "plain_text" || binding.type === "secret_text") return Buffer.byteLength(binding.text);
  return binding.type === "json" ? Buffer.byteLength(JSON.stringify(binding.json) ?? "") : 0;
}

const sizeOf = (modules: readonly Pick<UploadedModule, "content">[]): number =>
  modules.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);

export const badUpload = (reason: string, fix: string) => workerErrors.badUpload({ reason, fix });

const formatBytes = (count: number) =>
  count >= 1024 * 1024 ? `${Math.round((count / 1024 / 1024) * 100) / 100} MiB` : `${count} bytes`;
