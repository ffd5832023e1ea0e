import type { Secrets } from "../../store/index.ts";
import { workerErrors } from "../errors.ts";
import { checkBindings, checkTexts } from "./checks.ts";
import type { UploadLimits } from "./limits.ts";
import type { BindingTargets, InheritedBinding, Upload } from "./port.ts";
import type { Binding } from "./script.ts";

/** An encrypted secret can only be decrypted for its script and name. */
const contextOf = (scriptId: string, name: string) => `script/${scriptId}/${name}`;

export const sealBinding = (binding: Binding, scriptId: string, secrets: Secrets): Binding =>
  binding.type === "secret_text"
    ? { ...binding, text: secrets.seal(binding.text, contextOf(scriptId, binding.name)) }
    : binding;

export const openBinding = (binding: Binding, scriptId: string, secrets: Secrets): Binding =>
  binding.type === "secret_text"
    ? { ...binding, text: secrets.open(binding.text, contextOf(scriptId, binding.name)) }
    : binding;

export const withoutSecrets = (bindings: Binding[]): Binding[] =>
  bindings.map((binding) => (binding.type === "secret_text" ? { ...binding, text: "" } : binding));

export interface BindingSources {
  scriptId: string;
  /** Bindings of the newest version, with encrypted secrets. */
  base: Binding[];
  /** Bindings of another version of the same script; undefined if the script has no version with that id. */
  ofVersion(id: string): Promise<Binding[] | undefined>;
  secrets: Secrets;
  limits: UploadLimits;
}

type GivenBindings = Pick<Upload, "bindings" | "keepBindings" | "inheritStrictly">;

/**
 * Resolves with the bindings of a new version, with encrypted secrets: those of the request, then those carried over
 * from the newest version.
 */
export async function resolveBindings(
  { bindings, keepBindings, inheritStrictly }: GivenBindings,
  sources: BindingSources,
): Promise<Binding[]> {
  const { scriptId, base, secrets, limits } = sources;
  checkBindings(bindings, limits);
  checkTexts(
    bindings.filter((binding) => binding.type !== "inherit"),
    limits,
  );
  const sent: Binding[] = [];
  for (const binding of bindings) {
    const resolvedBinding =
      binding.type === "inherit"
        ? await inherit(binding, inheritStrictly, sources)
        : sealBinding(binding, scriptId, secrets);
    if (resolvedBinding !== undefined) sent.push(resolvedBinding);
  }
  const sentNames = new Set(bindings.map(({ name }) => name));
  // Copied in encrypted form: a secret that can no longer be decrypted must not prevent setting a new one.
  const keptBindings = base.filter(({ name, type }) => keepBindings.includes(type) && !sentNames.has(name));
  const allBindings = [...sent, ...keptBindings];
  checkBindings(allBindings, limits);
  return allBindings;
}

async function inherit(
  { name, oldName = name, versionId }: InheritedBinding,
  isStrict: boolean,
  { scriptId, base, ofVersion, secrets }: BindingSources,
): Promise<Binding | undefined> {
  const from = versionId === undefined || versionId === "latest" ? base : await ofVersion(versionId);
  if (from === undefined) throw workerErrors.inheritFailed({ name, reason: `this Worker has no version ${versionId}` });
  const resolvedBinding = from.find((binding) => binding.name === oldName);
  if (resolvedBinding !== undefined)
    return oldName === name
      ? resolvedBinding
      : sealBinding({ ...openBinding(resolvedBinding, scriptId, secrets), name }, scriptId, secrets);
  if (isStrict)
    throw workerErrors.inheritFailed({
      name,
      reason: `${versionId === undefined || from === base ? "the latest version" : `the version ${versionId}`} has no binding '${oldName}'`,
    });
  return undefined;
}

/**
 * Checks the bindings of a client that may not bind further secrets of the Secrets Store. A worker can reveal the
 * secrets that it binds. Throws storedSecretNotAllowed.
 */
export function checkStoredSecrets(bindings: readonly Binding[], existing: readonly Binding[]): void {
  for (const binding of bindings) {
    if (binding.type !== "secrets_store_secret") continue;
    const isBound = existing.some(
      (each) =>
        each.type === "secrets_store_secret" &&
        each.store_id === binding.store_id &&
        each.secret_name === binding.secret_name,
    );
    if (!isBound) throw workerErrors.storedSecretNotAllowed({ binding: binding.name, secret: binding.secret_name });
  }
}

/** Throws for the first binding to a resource that does not exist in the account. */
export async function checkTargets(
  bindings: Binding[],
  { account, name: script }: { account: string; name: string },
  targets: BindingTargets,
): Promise<void> {
  for (const binding of bindings) {
    const { name } = binding;
    if (binding.type === "kv_namespace" && !(await targets.kvNamespace(account, binding.namespace_id)))
      throw workerErrors.kvNamespaceMissing({ binding: name, target: binding.namespace_id });
    if (binding.type === "r2_bucket" && !(await targets.r2Bucket(account, binding.bucket_name)))
      throw workerErrors.r2BucketMissing({ binding: name, target: binding.bucket_name });
    if (binding.type === "d1" && !(await targets.d1Database(account, binding.id)))
      throw workerErrors.d1DatabaseMissing({ binding: name, target: binding.id });
    if (binding.type === "queue" && !(await targets.queue(account, binding.queue_name)))
      throw workerErrors.queueMissing({ binding: name, target: binding.queue_name });
    if (
      binding.type === "secrets_store_secret" &&
      !(await targets.storedSecret(account, binding.store_id, binding.secret_name))
    )
      throw workerErrors.storedSecretMissing({ binding: name, target: binding.secret_name, store: binding.store_id });
    // A worker may call itself, even before its first version exists.
    if (binding.type === "service" && binding.service !== script && !(await targets.worker(account, binding.service)))
      throw workerErrors.serviceMissing({ binding: name, target: binding.service });
  }
}
