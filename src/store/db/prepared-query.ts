import type { Compilable, CompiledQuery } from "kysely";

/**
 * Compiles a query once, with placeholders for its arguments. Kysely needs longer to build and compile a query than
 * SQLite needs to run it.
 */
export function prepareQuery<Row>(
  build: (arg: <Value>(name: string) => Value) => Compilable<Row>,
): (values: Record<string, unknown>) => Compilable<Row> {
  const compiled = build(<Value>(name: string) => ({ marker: name }) as Value).compile();
  const names = compiled.parameters.map((parameter) => (parameter as { marker?: string } | null)?.marker);
  return (values) => ({
    compile: (): CompiledQuery<Row> => ({
      ...compiled,
      parameters: names.map((name, i) => (name === undefined ? compiled.parameters[i] : values[name])),
    }),
  });
}
