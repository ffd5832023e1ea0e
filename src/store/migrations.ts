import type { Migration } from "./db/port.ts";
import { jobsMigrations } from "./jobs/jobs-table.ts";
import { objectsMigrations } from "./objects/partials-table.ts";
import { rateCountsMigrations } from "./rate-limits/counts-table.ts";
import { sweepsMigrations } from "./sweeps/sweeps-table.ts";

/** The tables of jobs, partial objects, sweeps and shared limits. */
export const storeMigrations: readonly Migration[] = [
  ...jobsMigrations,
  ...objectsMigrations,
  ...sweepsMigrations,
  ...rateCountsMigrations,
];
