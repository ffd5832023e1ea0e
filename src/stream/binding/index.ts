export { createStreamBinding } from "./binding.ts";
