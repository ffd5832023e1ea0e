import { checkJsonShape } from "../../json-shape.ts";
import { workerRouteErrors } from "./errors.ts";

/** Fields whose text is converted to numbers or flags; all other metadata remains text. */
const TYPED = new Set(["limits", "observability", "logpush", "keep_assets", "cache_options"]);
const MAX_DEPTH = 10;

type Branch = Map<string, Node>;
type Node = string | Node[] | Branch;

/** True if a form field has the name of this part, or is one of its fields in bracket notation: `part[name]`. */
export const isPartOf = (field: string, part: string): boolean => field === part || field.startsWith(`${part}[`);

/**
 * Resolves with the value of a part: JSON in a field or file, or fields in bracket notation, `part[name][]`, that the
 * SDK creates from an object. Undefined if missing. Throws badMetadata.
 */
export async function partOf(form: FormData, part: string): Promise<unknown> {
  const wholeParts = form.getAll(part);
  if (wholeParts.length > 1)
    throw workerRouteErrors.badMetadata({ part, reason: "it is present more than once", fix: "Send it once." });
  if (wholeParts.length === 1)
    return parseJsonPart(typeof wholeParts[0] === "object" ? await wholeParts[0].text() : wholeParts[0]!, part);
  const root: Branch = new Map();
  for (const [field, value] of form) {
    if (!field.startsWith(`${part}[`)) continue;
    const path = [...field.slice(part.length).matchAll(/\[([^\]]*)\]/g)].map(([, name]) => name!);
    if (typeof value !== "string" || path.length > MAX_DEPTH || path[0] === "")
      throw workerRouteErrors.badMetadata({
        part,
        reason: `${JSON.stringify(field.slice(0, 100))} is not one of its fields`,
        fix: `Send ${part} as a single part that contains JSON.`,
      });
    put(root, path, value);
  }
  return root.size === 0 ? undefined : toPlainObject(root);
}

/** Throws badMetadata, tooManyValues and tooDeep. */
export function parseJsonPart(text: string, part: string): unknown {
  checkJsonShape(Buffer.from(text));
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw workerRouteErrors.badMetadata(
      { part, reason: `it is not JSON (${(cause as Error).message})`, fix: "Send one JSON object." },
      { cause },
    );
  }
}

/**
 * `[]` appends to a list. An object in a list ends when one of its fields repeats: the encoding has no other delimiter.
 */
function put(branch: Branch, path: string[], value: string): void {
  const [name = "", ...rest] = path;
  if (rest.length === 0) {
    branch.set(name, value);
  } else if (rest[0] === "") {
    putIntoList(
      ensureChild(branch, name, (): Node[] => []),
      rest.slice(1),
      value,
    );
  } else {
    put(
      ensureChild(branch, name, (): Branch => new Map()),
      rest,
      value,
    );
  }
}

function putIntoList(list: Node[], path: string[], value: string): void {
  const last = list.at(-1);
  if (path.length === 0) {
    list.push(value);
  } else if (last instanceof Map && !isTaken(last, path)) {
    put(last, path, value);
  } else {
    const next: Branch = new Map();
    list.push(next);
    put(next, path, value);
  }
}

function isTaken(branch: Branch, [name = "", ...rest]: string[]): boolean {
  const existingNode = branch.get(name);
  if (existingNode === undefined || rest[0] === "") return false;
  return rest.length === 0 || !(existingNode instanceof Map) || isTaken(existingNode, rest);
}

/**
 * Returns the child node with this name; replaces conflicting text, so that later validation reports a field of the
 * wrong type.
 */
function ensureChild<Kind extends Node>(branch: Branch, name: string, make: () => Kind): Kind {
  const existingNode = branch.get(name);
  const createdNode = make();
  if (
    existingNode !== undefined &&
    typeof existingNode === "object" &&
    Array.isArray(existingNode) === Array.isArray(createdNode)
  )
    return existingNode as Kind;
  branch.set(name, createdNode);
  return createdNode;
}

const toPlainObject = (branch: Branch): Record<string, unknown> =>
  Object.fromEntries([...branch].map(([name, node]) => [name, valueOf(node, TYPED.has(name))]));

function valueOf(node: Node, isTyped: boolean): unknown {
  if (Array.isArray(node)) return node.map((item) => valueOf(item, isTyped));
  if (node instanceof Map) return Object.fromEntries([...node].map(([name, item]) => [name, valueOf(item, isTyped)]));
  if (!isTyped) return node;
  if (node === "true" || node === "false") return node === "true";
  return /^-?\d+(\.\d+)?$/.test(node) ? Number(node) : node;
}
