import type { Paint } from "../../kernel/paint.ts";
import { describeBinding, type ShownBinding } from "../../workers/project/index.ts";
import { table } from "../print.ts";

/** Table of the bindings in env, with a blank line above. */
export function bindingTable(bindings: readonly ShownBinding[], paint: Paint): string[] {
  const rows = bindings.map((binding) => {
    const { type, value } = describeBinding(binding, "platform");
    return [`env.${binding.name}`, type, value];
  });
  return rows.length === 0 ? [] : ["", ...table(["binding", "type", "value"], rows, paint)];
}
