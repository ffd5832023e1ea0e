import { QueryError } from "./lex.ts";
import type { Directive, Document, GraphqlOperation, Selection, Value } from "./parse.ts";

/** A requested field, with variables, fragments and directives resolved. */
export interface Field {
  /** Its name in the response: the alias, if there is one. */
  key: string;
  name: string;
  args: Record<string, unknown>;
  /** Empty for a leaf. */
  fields: Field[];
}

const MAX_FIELDS = 1000;
const MAX_FRAGMENTS = 20;

/** Returns the requested fields of an operation. Throws QueryError. */
export function selectedFields(
  document: Document,
  operationName: string | undefined,
  variableValues: Record<string, unknown>,
): Field[] {
  const operation = chooseOperation(document, operationName);
  const variables = variablesOf(operation, variableValues);
  let count = 0;

  function collect(selections: Selection[], fieldsByKey: Map<string, Field>, openFragments: string[]) {
    for (const one of selections) {
      // Skipped fields also count: nested fragments expand exponentially.
      if (++count > MAX_FIELDS) throw new QueryError(`the query requests more than ${MAX_FIELDS} fields`);
      if (!isIncluded(one.directives, variables)) continue;
      if (one.kind === "field") add(one, fieldsByKey, openFragments);
      else if (one.kind === "inline") collect(one.selections, fieldsByKey, openFragments);
      else {
        const fragment = document.fragments.get(one.fragment);
        if (fragment === undefined) throw new QueryError(`there is no fragment ${one.fragment}`);
        if (openFragments.includes(one.fragment)) throw new QueryError(`the fragment ${one.fragment} contains itself`);
        if (openFragments.length === MAX_FRAGMENTS)
          throw new QueryError(`fragments are nested more than ${MAX_FRAGMENTS} levels deep`);
        collect(fragment, fieldsByKey, [...openFragments, one.fragment]);
      }
    }
  }

  function add(
    { key, name, args, selections }: Selection & { kind: "field" },
    fieldsByKey: Map<string, Field>,
    openFragments: string[],
  ) {
    const plainArgs = Object.fromEntries([...args].map(([arg, value]) => [arg, plainValue(value, variables)]));
    const existingField = fieldsByKey.get(key);
    if (
      existingField !== undefined &&
      (existingField.name !== name || JSON.stringify(existingField.args) !== JSON.stringify(plainArgs))
    )
      throw new QueryError(`two different fields have the name ${key}: give one of them an alias`);
    const innerFields = new Map(existingField?.fields.map((field) => [field.key, field]));
    if (selections !== undefined) collect(selections, innerFields, openFragments);
    fieldsByKey.set(key, { key, name, args: plainArgs, fields: [...innerFields.values()] });
  }

  const topFields = new Map<string, Field>();
  collect(operation.selections, topFields, []);
  return [...topFields.values()];
}

function chooseOperation({ operations }: Document, name: string | undefined): GraphqlOperation {
  if (operations.length === 0) throw new QueryError("the query is empty");
  const matchingOperations = name === undefined ? operations : operations.filter((one) => one.name === name);
  if (matchingOperations.length === 0) throw new QueryError(`no operation is named ${name}`);
  if (matchingOperations.length > 1) throw new QueryError("there are several queries: select one with operationName");
  return matchingOperations[0]!;
}

function variablesOf({ variables }: GraphqlOperation, variableValues: Record<string, unknown>): Map<string, unknown> {
  const values = new Map<string, unknown>();
  for (const { name, fallback, required } of variables) {
    const value = Object.hasOwn(variableValues, name)
      ? variableValues[name]
      : fallback === undefined
        ? undefined
        : plainValue(fallback, values);
    if (required && (value === undefined || value === null)) throw new QueryError(`the variable $${name} is required`);
    values.set(name, value);
  }
  return values;
}

function plainValue(value: Value, variables: Map<string, unknown>): unknown {
  switch (value.kind) {
    case "value":
      return value.value;
    case "list":
      return value.items.map((item) => plainValue(item, variables));
    case "object":
      return Object.fromEntries([...value.fields].map(([name, one]) => [name, plainValue(one, variables)]));
    case "variable":
      if (!variables.has(value.name)) throw new QueryError(`the query does not declare the variable $${value.name}`);
      return variables.get(value.name);
  }
}

function isIncluded(directives: Directive[], variables: Map<string, unknown>): boolean {
  for (const { name, args } of directives) {
    if (name !== "include" && name !== "skip") throw new QueryError(`there is no directive @${name}`);
    const condition = args.get("if");
    if (condition === undefined) throw new QueryError(`@${name} requires an argument "if"`);
    if ((plainValue(condition, variables) === true) === (name === "skip")) return false;
  }
  return true;
}
