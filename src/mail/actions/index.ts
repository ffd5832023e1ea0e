export type { ForwardRules } from "./forward.ts";
export { createSettle, refused, refusedWith, type Delivery, type Outcome } from "./settle.ts";
export { createTell, type Owner, type Tell } from "./tell.ts";
export { createWorkerAction, type Handled } from "./worker.ts";
