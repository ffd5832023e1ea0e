import type { Expression } from "./ast.ts";
import { queryError } from "./values.ts";

const MAX_EXPANDED_SIZE = 20_000;

/**
 * Rejects expressions that are too large after their aliases have been expanded: `a + a AS b, b + b AS c` doubles the
 * size with each alias. Throws invalidQuery.
 */
export function checkExpandedSize(expressions: readonly Expression[], aliases: ReadonlyMap<string, Expression>): void {
  const sizes = new Map<string, number>();
  const sizeOf = (expression: Expression): number => {
    if (expression.kind === "call") return expression.args.reduce((sum, arg) => sum + sizeOf(arg), 1);
    const alias = expression.kind === "name" ? aliases.get(expression.name) : undefined;
    if (expression.kind !== "name" || alias === undefined) return 1;
    const cachedSize = sizes.get(expression.name);
    if (cachedSize !== undefined) return cachedSize;
    // An alias within its own expression is a column, or an error.
    sizes.set(expression.name, 1);
    const size = 1 + sizeOf(alias);
    sizes.set(expression.name, size);
    return size;
  };
  const total = expressions.reduce((sum, expression) => sum + sizeOf(expression), 0);
  if (total > MAX_EXPANDED_SIZE)
    throw queryError(`the query has more than ${MAX_EXPANDED_SIZE} operations after its aliases have been expanded`);
}
