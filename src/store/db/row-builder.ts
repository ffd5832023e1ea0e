/**
 * Builds row objects of one shape from column values, with generated code per statement: assigning properties one by
 * one takes twice as long, and rows are the most common objects of this program.
 */
export function rowBuilder(columns: readonly string[]): (values: readonly unknown[]) => object {
  // In brackets, `__proto__` is an ordinary property name.
  const fields = columns.map(
    (name, i) =>
      `${/^(?!__proto__$)\w+$/.test(name) ? JSON.stringify(name) : `[${JSON.stringify(name)}]`}: values[${i}]`,
  );
  // Column names come from our own queries and are quoted.
  // oxlint-disable-next-line no-new-func
  return new Function("values", `return { ${fields.join(", ")} };`) as (values: readonly unknown[]) => object;
}
