/**
 * Makes rows as plain objects of one shape out of the values of their columns. Written out as code once for each statement: filling objects
 * one property after the other takes twice as long, and rows are the most numerous objects of this program.
 */
export function rowMaker(columns: readonly string[]): (values: readonly unknown[]) => object {
  // In brackets `__proto__` is a name like any other.
  const fields = columns.map(
    (name, i) =>
      `${/^(?!__proto__$)\w+$/.test(name) ? JSON.stringify(name) : `[${JSON.stringify(name)}]`}: values[${i}]`,
  );
  // Column names are those of our own queries, and quoted.
  // oxlint-disable-next-line no-new-func
  return new Function("values", `return { ${fields.join(", ")} };`) as (values: readonly unknown[]) => object;
}
