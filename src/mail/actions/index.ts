export type { ForwardRules } from "./forward.ts";
export { createDeliver, refused, refusedWith, type Delivery, type DeliveryOutcome } from "./deliver.ts";
export { createTell, type Owner, type Tell } from "./tell.ts";
export { createWorkerAction, type Handled } from "./worker.ts";
