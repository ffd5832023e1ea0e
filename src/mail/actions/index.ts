export type { ForwardRules } from "./forward.ts";
export { createDeliver, rejectedResult, rejectedWithReply, type Delivery, type DeliveryOutcome } from "./deliver.ts";
export { createStepRecorder, type Owner, type RecordStep } from "./record-step.ts";
export { createWorkerLogs, type WorkerLogs } from "./worker-logs.ts";
export { createWorkerAction, type HandlingResult } from "./worker.ts";
