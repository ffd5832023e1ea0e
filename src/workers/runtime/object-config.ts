import type { DurableObjectBinding, WorkerScript } from "../scripts/script.ts";
import { OBJECT_CALLS, REMOTE_OBJECTS, SHARED, type ObjectSources } from "./inside-modules.ts";
import { serviceName, type ForeignObjects, isForeign } from "./remote-bindings.ts";

/**
 * The parts of a process configuration that concern Durable Objects: the stored objects of its own classes, a service by
 * which other workers call these, and stand-ins for the classes of other workers.
 */

/** The service by which other workers call the objects of this process. */
export const OBJECT_CALLS_SERVICE = "object-calls";
const STORAGE_SERVICE = "objects";
const REMOTE_SERVICE = "remote-objects";

type Text = (value: string) => string;
type Embed = (content: string) => string;

/** Fields of the worker's own configuration. */
export function ownObjects({ objects }: WorkerScript, text: Text): string[] {
  if (objects === undefined) return [];
  const namespaces = objects.namespaces.map(
    ({ id, className, sqlite }) => `(className = ${text(className)}, uniqueKey = ${text(id)}, enableSql = ${sqlite})`,
  );
  return [
    `durableObjectNamespaces = [${namespaces.join(", ")}]`,
    `durableObjectStorage = (${objects.isTrial ? "inMemory = void" : `localDisk = ${text(STORAGE_SERVICE)}`})`,
  ];
}

/** `storage` is the path of the folder for the process. */
export function objectServices(
  script: WorkerScript,
  { storage, sources, text, embed }: { storage: string | undefined; sources: ObjectSources; text: Text; embed: Embed },
): string[] {
  const { objects } = script;
  const foreign = script.bindings.filter(isForeign);
  const worker = (name: string, fields: string[]) =>
    `(name = ${text(name)}, worker = (compatibilityDate = "2026-01-01", ${fields.join(", ")}))`;
  const module = (name: string, source: string) => `(name = ${text(name)}, esModule = ${embed(source)})`;
  const shared = module(SHARED.slice(2), sources.shared);
  return [
    ...(storage === undefined
      ? []
      : [`(name = ${text(STORAGE_SERVICE)}, disk = (path = ${text(storage)}, writable = true))`]),
    ...(objects === undefined
      ? []
      : [
          worker(OBJECT_CALLS_SERVICE, [
            `modules = [${module(OBJECT_CALLS, sources.objectCalls)}, ${shared}]`,
            `bindings = [${objects.namespaces
              .flatMap(({ id, className }) => [id, className].map((name) => ({ name, className })))
              .map(
                ({ name, className }) =>
                  `(name = ${text(name)}, durableObjectNamespace = (className = ${text(className)}, serviceName = "user"))`,
              )
              .join(", ")}]`,
          ]),
        ]),
    ...(foreign.length === 0
      ? []
      : [
          worker(REMOTE_SERVICE, [
            `modules = [${module("main.js", standIns(foreign))}, ${module(REMOTE_OBJECTS, sources.remoteObjects)}, ${shared}]`,
            `bindings = [${foreign.map((each) => `(name = ${text(each.name)}, service = ${text(serviceName(each))})`).join(", ")}]`,
            `durableObjectNamespaces = [${namespaceKeys(foreign)
              .map((key) => `(className = ${text(classOf(key))}, uniqueKey = ${text(key)})`)
              .join(", ")}]`,
            "durableObjectStorage = (inMemory = void)",
          ]),
        ]),
  ];
}

/** The binding itself. */
export const objectBinding = (binding: DurableObjectBinding, text: Text): string =>
  `(name = ${text(binding.name)}, durableObjectNamespace = ${
    isForeign(binding)
      ? `(className = ${text(classOf(keyOf(binding)))}, serviceName = ${text(REMOTE_SERVICE)})`
      : text(binding.class_name)
  })`;

/**
 * The class of a stand-in has the key of the real namespace, so that both derive the same ids. Two bindings may refer to
 * the same namespace.
 */
const standIns = (foreign: ForeignObjects[]) =>
  [
    `import { standInFor } from ${JSON.stringify(`./${REMOTE_OBJECTS}`)};`,
    ...namespaceKeys(foreign).map((key) => {
      const {
        name,
        class_name: className,
        namespace_id: namespaceId = "",
      } = foreign.find((each) => keyOf(each) === key)!;
      const namespace = JSON.stringify({ namespaceId, className });
      return `export const ${classOf(key)} = standInFor(${JSON.stringify(name)}, ${namespace});`;
    }),
    "export default {};",
  ].join("\n");

const keyOf = ({ namespace_id, script_name, class_name }: ForeignObjects) =>
  namespace_id ?? `${script_name}/${class_name}`;
const namespaceKeys = (foreign: ForeignObjects[]) => [...new Set(foreign.map(keyOf))];
const classOf = (key: string) => `Objects_${Buffer.from(key).toString("hex")}`;
