export { invocationFiguresMigrations, type InvocationColumn } from "./figures-table.ts";
export { createInvocationFigures, type InvocationFigures, type InvocationSums } from "./figures.ts";
export { quantile } from "./histogram.ts";
