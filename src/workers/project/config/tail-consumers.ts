import type { EnvironmentFields } from "./schema.ts";

/** Returns the names of the tail workers, without duplicates. */
export const makeTailConsumers = ({ tail_consumers = [] }: EnvironmentFields): string[] => [
  ...new Set(tail_consumers.map(({ service }) => service)),
];
