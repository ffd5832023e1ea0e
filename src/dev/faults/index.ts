export { createChaos } from "./chaos.ts";
export { createDeliveryFaults, type DeliveryFaults } from "./delivery-faults.ts";
export { createDiskFault, type DiskFault } from "./disk-fault.ts";
