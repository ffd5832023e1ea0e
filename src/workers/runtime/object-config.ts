import type { DurableObjectBinding, WorkerScript } from "../scripts/script.ts";
import { OBJECT_CALLS_MODULE, REMOTE_OBJECTS_MODULE, SHARED_MODULE, type ObjectSources } from "./isolate-modules.ts";
import { serviceName, type ForeignObjectBinding, isForeignObjectBinding } from "./remote-bindings.ts";

/**
 * The Durable Object settings in a process configuration: the storage of the worker's own classes, a service through
 * which other workers call them, and proxies for the classes of other workers.
 */

/** The service through which other workers call the objects of this process. */
export const OBJECT_CALLS_SERVICE = "object-calls";
const STORAGE_SERVICE = "objects";
const REMOTE_SERVICE = "remote-objects";

type Text = (value: string) => string;
type Embed = (content: string) => string;

/** Fields that declare the worker's own classes in its configuration. */
export function ownObjectFields({ objects }: WorkerScript, text: Text): string[] {
  if (objects === undefined) return [];
  const namespaces = objects.namespaces.map(
    ({ id, className, sqlite }) => `(className = ${text(className)}, uniqueKey = ${text(id)}, enableSql = ${sqlite})`,
  );
  return [
    `durableObjectNamespaces = [${namespaces.join(", ")}]`,
    `durableObjectStorage = (${objects.isTrial ? "inMemory = void" : `localDisk = ${text(STORAGE_SERVICE)}`})`,
  ];
}

/** Service definitions. `storage` is the path by which the process opens its storage directory. */
export function objectServices(
  script: WorkerScript,
  { storage, sources, text, embed }: { storage: string | undefined; sources: ObjectSources; text: Text; embed: Embed },
): string[] {
  const { objects } = script;
  const foreignBindings = script.bindings.filter(isForeignObjectBinding);
  const workerService = (name: string, fields: string[]) =>
    `(name = ${text(name)}, worker = (compatibilityDate = "2026-01-01", ${fields.join(", ")}))`;
  const module = (name: string, source: string) => `(name = ${text(name)}, esModule = ${embed(source)})`;
  const shared = module(SHARED_MODULE.slice(2), sources.shared);
  return [
    ...(storage === undefined
      ? []
      : [`(name = ${text(STORAGE_SERVICE)}, disk = (path = ${text(storage)}, writable = true))`]),
    ...(objects === undefined
      ? []
      : [
          workerService(OBJECT_CALLS_SERVICE, [
            `modules = [${module(OBJECT_CALLS_MODULE, sources.objectCalls)}, ${shared}]`,
            `bindings = [${objects.namespaces
              .flatMap(({ id, className }) => [id, className].map((name) => ({ name, className })))
              .map(
                ({ name, className }) =>
                  `(name = ${text(name)}, durableObjectNamespace = (className = ${text(className)}, serviceName = "user"))`,
              )
              .join(", ")}]`,
          ]),
        ]),
    ...(foreignBindings.length === 0
      ? []
      : [
          workerService(REMOTE_SERVICE, [
            `modules = [${module("main.js", proxyModule(foreignBindings))}, ${module(REMOTE_OBJECTS_MODULE, sources.remoteObjects)}, ${shared}]`,
            `bindings = [${foreignBindings.map((candidate) => `(name = ${text(candidate.name)}, service = ${text(serviceName(candidate))})`).join(", ")}]`,
            `durableObjectNamespaces = [${namespaceKeys(foreignBindings)
              .map((key) => `(className = ${text(proxyClassName(key))}, uniqueKey = ${text(key)})`)
              .join(", ")}]`,
            "durableObjectStorage = (inMemory = void)",
          ]),
        ]),
  ];
}

/** Returns the definition of one binding. */
export const objectBinding = (binding: DurableObjectBinding, text: Text): string =>
  `(name = ${text(binding.name)}, durableObjectNamespace = ${
    isForeignObjectBinding(binding)
      ? `(className = ${text(proxyClassName(namespaceKeyOf(binding)))}, serviceName = ${text(REMOTE_SERVICE)})`
      : text(binding.class_name)
  })`;

/**
 * Returns a module that exports one proxy class per namespace. Each class has the unique key of the real namespace, so
 * that both derive the same ids. Several bindings may refer to one namespace.
 */
const proxyModule = (foreignBindings: ForeignObjectBinding[]) =>
  [
    `import { proxyClassFor } from ${JSON.stringify(`./${REMOTE_OBJECTS_MODULE}`)};`,
    ...namespaceKeys(foreignBindings).map((key) => {
      const {
        name,
        class_name: className,
        namespace_id: namespaceId = "",
      } = foreignBindings.find((candidate) => namespaceKeyOf(candidate) === key)!;
      const namespace = JSON.stringify({ namespaceId, className });
      return `export const ${proxyClassName(key)} = proxyClassFor(${JSON.stringify(name)}, ${namespace});`;
    }),
    "export default {};",
  ].join("\n");

const namespaceKeyOf = ({ namespace_id, script_name, class_name }: ForeignObjectBinding) =>
  namespace_id ?? `${script_name}/${class_name}`;
const namespaceKeys = (foreignBindings: ForeignObjectBinding[]) => [...new Set(foreignBindings.map(namespaceKeyOf))];
const proxyClassName = (key: string) => `Objects_${Buffer.from(key).toString("hex")}`;
