export { inspectSpf, type SpfInspection, type SpfTree } from "./inspect.ts";
