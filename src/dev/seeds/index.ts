export { runSeeds } from "./seeds.ts";
